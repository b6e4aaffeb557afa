//go:build !linux

package contract

import "net"

// unacknowledged cannot be asked here: what was sent over loopback counts as arrived.
func unacknowledged(*net.TCPConn) (int, error) { return 0, nil }
