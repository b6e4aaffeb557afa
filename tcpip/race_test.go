//go:build race

package tcpip

// raced says whether the race detector watches: moving bytes takes several times as long then.
const raced = true
