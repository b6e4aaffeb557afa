package serve

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// kernelWriter is a connection of this package to which the kernel can copy.
type kernelWriter interface {
	// writeBy calls send with the descriptor until it does not return EAGAIN, and waits between the
	// calls. send writes n bytes by a system call that does not wait for the peer. The error is
	// errors.ErrUnsupported, before any call, if the connection has no descriptor for that.
	writeBy(send func(fd int) (n int, errno syscall.Errno)) (n int, err error)
}

// SendFile writes n bytes of f from offset, which the kernel copies (sendfile). c is the net.Conn
// that a handler received, which must be off its event loop, if it has one: see [LeaveLoop]. Only
// its goroutine may call SendFile. If f is shorter, less is sent.
//
// If the kernel cannot do that, nothing is sent, and the error is errors.ErrUnsupported: with TLS,
// on an event loop, with some file systems, and on other systems than Linux.
func SendFile(c net.Conn, f *os.File, offset, n int64) (sent int64, err error) {
	w, ok := c.(kernelWriter)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return sendFile(w, f, offset, n)
}

// SpliceSource is a socket from which [Splice] moves data.
type SpliceSource interface {
	// ReadRaw calls read with the descriptor until it returns true, and waits for input between the
	// calls, as [syscall.RawConn].Read does.
	ReadRaw(read func(fd uintptr) (done bool)) error
	// Moved is called when n bytes were read. 0: the peer has finished.
	Moved(n int64)
}

// Splice writes n bytes that arrive on another socket, which the kernel moves (splice). c is as for
// SendFile. If the source's peer finishes before, or ReadRaw fails, less is sent; the error is that
// of ReadRaw, or of writing. The error is errors.ErrUnsupported, and nothing is sent or read, where
// SendFile returns it.
func Splice(c net.Conn, from SpliceSource, n int64) (sent int64, err error) {
	w, ok := c.(kernelWriter)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return splice(w, from, n)
}

// writeBy implements kernelWriter.
func (s *stream) writeBy(send func(fd int) (int, syscall.Errno)) (n int, err error) {
	if s.rawConn == nil {
		return 0, errors.ErrUnsupported
	}
	var errno syscall.Errno
	err = s.rawConn.Write(func(fd uintptr) bool {
		n, errno = send(int(fd))
		return errno != syscall.EAGAIN
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("write", errno)
	}
	if err != nil {
		return 0, s.connError(err)
	}
	s.countWritten(n)
	return n, nil
}
