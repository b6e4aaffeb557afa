//go:build !linux

package host

// checkDevice does nothing: OpenTap returns the error on this system.
func checkDevice(string, string) error { return nil }
