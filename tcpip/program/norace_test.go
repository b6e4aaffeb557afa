//go:build !race

package program

// raced is whether the race detector is on.
const raced = false
