package serve

import (
	"net"
	"os"
	"syscall"
	"time"
)

// detach removes the connection from the loop and returns its descriptor, open.
func (c *conn) detach() int {
	c.loop.poller.remove(c.fd)
	c.close()
	c.loop.closingFDs = c.loop.closingFDs[:len(c.loop.closingFDs)-1]
	return c.fd
}

// handOver implements driver.
func (s *loopSession) handOver() {
	if s.life.HasEnded() || s.closeRequested.Load() { // a handover does not wait for the peer
		s.end(ErrClosed)
		return
	}
	w := &s.loop.writer
	defer w.reset()
	s.loop.callingSession = s
	state, ok := askToMove(s.session, s.loop.options, s.loop.counters, s, w)
	s.loop.callingSession = nil
	if !ok {
		return
	}
	s.outbox.put(w.buf, s, -1)
	unsent := s.outbox.takeRest()
	s.loop.options.OnMove(MovedConn{FD: s.detach(), Unsent: unsent, State: state})
}

// handOver implements driver. The session's owner asks it for its state as soon as it has left its
// wait.
func (c *handlerConn) handOver() {
	c.interruptPosted.Store(true)
	c.onPost(time.Time{})
}

func (c *handlerConn) handsOver() bool { return c.loop.handingOver }

func (*conn) canMove() bool { return true }

func (s *stream) canMove() bool { return s.rawConn != nil }

func (c *handlerConn) detach(ask func() bool) (int, bool) {
	if !ask() {
		return 0, false
	}
	return c.conn.detach(), true
}

// adopt opens the loop's share of the connections that were handed over.
func (l *loop) adopt() {
	for ; l.adoptLimit > 0; l.adoptLimit-- {
		m := l.service.adoptions.next()
		if m == nil {
			return
		}
		// fails if the peer has gone, which the first read reports
		sa, _ := syscall.Getpeername(m.FD)
		l.connCount.Add(1)
		l.open(m.FD, address(sa), m)
	}
}

// detach implements sessionHost.
func (s *stream) detach(ask func() bool) (int, bool) {
	if s.rawConn == nil {
		return 0, false
	}
	dup := -1
	s.rawConn.Control(func(fd uintptr) {
		d, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
		if errno == 0 {
			dup = int(d)
		}
	})
	if dup < 0 {
		return 0, false
	}
	if !ask() {
		syscall.Close(dup)
		return 0, false
	}
	s.noLinger.Store(true) // the duplicate stays open
	return dup, true
}

// conn returns the connection and takes over its descriptor.
func (m *MovedConn) conn() (net.Conn, error) {
	return connOf(os.NewFile(uintptr(m.FD), "adopted connection"))
}
