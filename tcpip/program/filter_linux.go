//go:build amd64 || arm64

package program

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data, of the low halves of arguments on little-endian machines.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// stoppedCalls are the calls that the supervisor always answers.
var stoppedCalls = []uint32{
	unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT, unix.SYS_SHUTDOWN,
	unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_SENDMMSG, unix.SYS_RECVMMSG,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_PIDFD_GETFD,
}

// filter builds a program of classic BPF.
type filter []unix.SockFilter

func (f *filter) load(offset uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) ret(action uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

// unless skips the next n instructions if the loaded value is not k.
func (f *filter) unless(k uint32, n uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: n})
}

// unlessAtLeast skips the next n instructions if the loaded value is less than k.
func (f *filter) unlessAtLeast(k uint32, n uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: k, Jf: n})
}

// newFilter returns the filter: which calls are notified, and that others pass.
func newFilter() filter {
	var f filter
	f.load(offsetArch)
	foreign := len(f)
	f.unless(nativeArch, 0) // the distance to the calls of other ABIs is set below
	f.load(offsetNumber)
	if firstForeignCall != 0 { // x32 shares the architecture
		f.unlessAtLeast(firstForeignCall, 1)
		f.ret(unix.SECCOMP_RET_USER_NOTIF)
	}
	for _, number := range stoppedCalls {
		f.unless(number, 1)
		f.ret(unix.SECCOMP_RET_USER_NOTIF)
	}
	for _, number := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		f.unlessArgument(number, 0, unix.AF_UNIX)
	}
	f.ifFlag(unix.SYS_SENDTO, 3, unix.MSG_OOB)
	for _, number := range []uint32{unix.SYS_SENDTO, unix.SYS_RECVFROM} {
		f.unlessNoPointer(number, 4)
	}
	f.ret(unix.SECCOMP_RET_ALLOW)
	f[foreign].Jf = uint8(len(f) - foreign - 1)
	f.load(offsetNumber)
	for _, number := range foreignCalls {
		f.unless(number, 1)
		f.ret(unix.SECCOMP_RET_USER_NOTIF)
	}
	f.ret(unix.SECCOMP_RET_ALLOW)
	return f
}

// unlessArgument notifies of a call unless the low half of an argument, an int, is the allowed one.
func (f *filter) unlessArgument(number uint32, arg, allowed uint32) {
	f.unless(number, 4)
	f.load(offsetArgs + 8*arg)
	f.unless(allowed, 1)
	f.ret(unix.SECCOMP_RET_ALLOW)
	f.ret(unix.SECCOMP_RET_USER_NOTIF)
}

// ifFlag notifies of a call if an argument, an int, has a flag.
func (f *filter) ifFlag(number uint32, arg, flag uint32) {
	f.unless(number, 4)
	f.load(offsetArgs + 8*arg)
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: flag, Jf: 1})
	f.ret(unix.SECCOMP_RET_USER_NOTIF)
	f.load(offsetNumber)
}

// unlessNoPointer notifies of a call unless an argument is a null pointer.
func (f *filter) unlessNoPointer(number uint32, arg uint32) {
	f.unless(number, 6)
	f.load(offsetArgs + 8*arg)
	f.unless(0, 3)
	f.load(offsetArgs + 8*arg + 4)
	f.unless(0, 1)
	f.ret(unix.SECCOMP_RET_ALLOW)
	f.ret(unix.SECCOMP_RET_USER_NOTIF)
}

// errNested is the error of a second filter with notifications.
var errNested = errors.New("another process answers the calls of this one already: programs on a stack cannot run others on a stack, nor can some containers")

// install has the filter hold for this thread and for what it starts, and returns the descriptor of
// the notifications.
func (f filter) install() (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, os.NewSyscallError("prctl", err)
	}
	fprog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&fprog)))
	if errno == unix.EBUSY {
		return -1, errNested
	}
	if errno != 0 {
		return -1, os.NewSyscallError("seccomp", errno)
	}
	unix.CloseOnExec(int(fd))
	return int(fd), nil
}
