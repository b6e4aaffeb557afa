//go:build race

package netsim_test

// raced is whether the race detector is on: all is several times slower.
const raced = true
