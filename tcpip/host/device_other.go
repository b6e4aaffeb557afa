//go:build !linux

package host

import "weir/tcpip/link"

// checkDevice does nothing: OpenTap returns the error on this system.
func checkDevice(string, string, link.Medium) error { return nil }
