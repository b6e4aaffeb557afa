//go:build !race && (amd64 || arm64)

package program

// raced is whether the race detector is on.
const raced = false
