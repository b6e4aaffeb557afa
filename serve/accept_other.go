//go:build !linux

package serve

import "syscall"

// ofSystem are errors of one connection that other systems do not have.
var ofSystem []syscall.Errno
