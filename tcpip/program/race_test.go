//go:build race

package program

// raced is whether the race detector is on: it makes memory several times larger.
const raced = true
