//go:build race

package netsim

// raced is whether the race detector is on: all is several times slower.
const raced = true
