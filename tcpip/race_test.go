//go:build race

package tcpip

// raced is whether the race detector is on: it makes copying several times slower.
const raced = true
