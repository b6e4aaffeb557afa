//go:build !race

package tcpip

// raced says whether the race detector watches.
const raced = false
