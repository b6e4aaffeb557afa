package serve

import (
	"syscall"
	"unsafe"

	"weir/serve/lifecycle"
)

// arrivedInput returns how many bytes a socket has that are not read: tcp(7), SIOCINQ.
func arrivedInput(fd int) int {
	var n int32
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCINQ, uintptr(unsafe.Pointer(&n))); errno != 0 {
		return lifecycle.UnknownInput
	}
	return int(n)
}
