package serve

import (
	"syscall"
	"unsafe"
)

func (c *conn) delivered() (sent, acknowledged bool) { return c.outbox.delivered(c) }

// inFlight implements nonblockingWriter: it reports whether output is unacknowledged. The lock of
// c.outbox is held, as for tryWrite.
func (c *conn) inFlight() bool { return inFlight(c.fd) }

// unacknowledged reports whether the peer's kernel has yet to acknowledge bytes that were written
// to a socket. Nil has none.
func unacknowledged(raw syscall.RawConn) (yes bool) {
	if raw != nil {
		_ = raw.Control(func(fd uintptr) { yes = inFlight(int(fd)) })
	}
	return yes
}

// inFlight reports whether a socket has unacknowledged output: tcp(7), SIOCOUTQ.
func inFlight(fd int) bool {
	var n int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	return errno == 0 && n > 0
}
