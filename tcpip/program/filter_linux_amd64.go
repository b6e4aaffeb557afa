package program

import "golang.org/x/sys/unix"

const (
	nativeArch       = unix.AUDIT_ARCH_X86_64
	firstForeignCall = 0x40000000 // __X32_SYSCALL_BIT
)

// foreignCalls are the calls of i386 by which a program gets internet sockets: socketcall, socket,
// recvmsg, recvmmsg, io_uring_setup, io_uring_enter, pidfd_getfd.
var foreignCalls = []uint32{102, 359, 372, 337, 417, 425, 426, 438}
