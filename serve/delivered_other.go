//go:build !linux

package serve

import "syscall"

func (*stream) inFlight() bool { return false }

func unacknowledged(syscall.RawConn) bool { return false }
