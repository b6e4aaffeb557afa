//go:build race

package serve

import "syscall"

// rawRead and rawWrite are calls that the race detector knows: what a goroutine did before it wrote
// to a socket happens before what another one does after it has read from the other end. Programs
// that test a server and its client in one process rely on that.
func rawRead(fd int, p []byte) (int, syscall.Errno) { return result(syscall.Read(fd, p)) }

func rawWrite(fd int, p []byte) (int, syscall.Errno) { return result(syscall.Write(fd, p)) }

func result(n int, err error) (int, syscall.Errno) {
	errno, _ := err.(syscall.Errno)
	return n, errno
}
