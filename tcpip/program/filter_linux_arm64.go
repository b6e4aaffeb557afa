package program

import "golang.org/x/sys/unix"

const (
	nativeArch       = unix.AUDIT_ARCH_AARCH64
	firstForeignCall = 0 // none: other ABIs have architectures of their own
)

// foreignCalls are the calls of 32-bit ARM by which a program gets internet sockets: socketcall,
// socket, recvmsg, recvmmsg, io_uring_setup, io_uring_enter, pidfd_getfd.
var foreignCalls = []uint32{102, 281, 297, 365, 417, 425, 426, 438}
