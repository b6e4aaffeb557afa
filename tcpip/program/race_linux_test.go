//go:build race && (amd64 || arm64)

package program

// raced is whether the race detector is on: it makes memory several times larger.
const raced = true
