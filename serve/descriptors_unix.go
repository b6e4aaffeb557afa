//go:build unix

package serve

import "syscall"

// onUnix says that connections of the kernel have file descriptors that system calls take.
const onUnix = true

func readFD(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

func writeFD(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }

// Close closes the connection.
func (m MovedConn) Close() error { return syscall.Close(m.FD) }

// socketError returns and clears the pending error of a socket; nil if there is none.
func socketError(fd uintptr) error {
	errno, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err != nil || errno == 0 {
		return nil
	}
	return syscall.Errno(errno)
}
