//go:build !linux

package stackapp

import "syscall"

// cubic does nothing on this system.
func cubic(_, _ string, _ syscall.RawConn) error { return nil }
