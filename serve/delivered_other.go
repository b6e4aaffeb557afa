//go:build !linux

package serve

func (*stream) inFlight() bool { return false }
