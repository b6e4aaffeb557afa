//go:build race

package serve

import (
	"net"
	"syscall"
)

// rawRead and rawWrite are calls that the race detector knows: what a goroutine did before it wrote
// to a socket happens before what another one does after it has read from the other end. Programs
// that test a server and its client in one process rely on that.
func rawRead(fd int, p []byte) (int, syscall.Errno) { return result(syscall.Read(fd, p)) }

func rawWrite(fd int, p []byte) (int, syscall.Errno) { return result(syscall.Write(fd, p)) }

func result(n int, err error) (int, syscall.Errno) {
	errno, _ := err.(syscall.Errno)
	return n, errno
}

// rawClose and rawAccept are those of package syscall.
func rawClose(fd int) { syscall.Close(fd) }

func rawAccept(listener int) (fd int, peer net.Addr, errno syscall.Errno) {
	fd, sa, err := syscall.Accept4(listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
	if errno, _ = err.(syscall.Errno); errno != 0 {
		return -1, nil, errno
	}
	return fd, address(sa), 0
}

// rawEnter lets the race detector see a write, which has no effect, before the sends.
func rawEnter(ring, submit, wait int, flags uintptr) (int, syscall.Errno) {
	_, _ = syscall.Write(-1, nil)
	n, _, errno := syscall.RawSyscall6(sysRingEnter, uintptr(ring), uintptr(submit), uintptr(wait), flags, 0, 0)
	return int(n), errno
}
