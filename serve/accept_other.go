//go:build !linux

package serve

import "syscall"

// systemAcceptErrors are errors of one connection that only Linux has.
var systemAcceptErrors []syscall.Errno
