package serve

import (
	"syscall"
	"unsafe"
)

func (c *conn) delivered() (sent, taken bool) { return c.out.delivered(c) }

// inFlight implements taker. Guarded as tryWrite is.
func (c *conn) inFlight() bool { return inFlight(c.fd) }

// inFlight implements taker.
func (s *stream) inFlight() bool { return unacknowledged(s.raw) }

// unacknowledged reports whether the peer's kernel has yet to acknowledge some of what was written
// to a socket; nil has none.
func unacknowledged(raw syscall.RawConn) (yes bool) {
	if raw != nil {
		_ = raw.Control(func(fd uintptr) { yes = inFlight(int(fd)) })
	}
	return yes
}

// inFlight asks how much a socket has that was not acknowledged: tcp(7), SIOCOUTQ.
func inFlight(fd int) bool {
	var n int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	return errno == 0 && n > 0
}
