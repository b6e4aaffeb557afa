//go:build !linux

package serve

import "syscall"

func unacknowledged(syscall.RawConn) bool { return false }
