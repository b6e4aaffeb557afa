//go:build !linux

package contract

import "net"

// unacknowledged is not available on this system: what was sent over loopback counts as arrived.
func unacknowledged(*net.TCPConn) (int, error) { return 0, nil }
