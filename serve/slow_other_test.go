//go:build !linux

package serve

// hasQueuedOutput is waitsFor for a connection of a loop, which this system lacks.
func hasQueuedOutput(Conn) bool { return false }
