//go:build !race

package tcpip

// raced is whether the race detector is on.
const raced = false
