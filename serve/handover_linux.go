package serve

import (
	"net"
	"os"
	"syscall"
	"time"
)

// detach has the loop forget the connection, and not close its descriptor.
func (c *conn) detach() int {
	c.l.poller.remove(c.fd)
	c.close()
	c.l.dead = c.l.dead[:len(c.l.dead)-1]
	return c.fd
}

// handOver implements driver.
func (s *looped) handOver() {
	if s.ending != nil { // it has ended, and its peer is not waited for
		s.end(s.ending)
		return
	}
	if s.unwanted.Load() {
		s.end(ErrClosed)
		return
	}
	w := &s.l.out
	defer w.reset()
	s.l.calling = s
	state, ok := askToMove(s.session, s.l.o, s.l.lane, s, w)
	s.l.calling = nil
	if !ok {
		return
	}
	s.out.put(w.buf, s, -1)
	unsent := s.out.take()
	s.l.o.Moved(Moved{FD: s.detach(), Unsent: unsent, State: state})
}

// handOver implements driver: the session's owner asks it, as soon as it has left what it waits
// for.
func (c *coroutine) handOver() {
	c.pokes.Store(true)
	c.woken(time.Time{})
}

func (c *coroutine) handsOver() bool { return c.l.moving }

func (*conn) canMove() bool { return true }

func (s *stream) canMove() bool { return s.raw != nil }

func (c *coroutine) detach(ask func() bool) (int, bool) {
	if !ask() {
		return 0, false
	}
	return c.conn.detach(), true
}

// adopt begins with the loop's share of the connections that were handed over.
func (l *loop) adopt() {
	for ; l.share > 0; l.share-- {
		m := l.work.arrivals.next()
		if m == nil {
			return
		}
		// fails when the peer has gone, which the first read tells
		sa, _ := syscall.Getpeername(m.FD)
		l.load.Add(1)
		l.begin(m.FD, address(sa), m)
	}
}

// detach implements host.
func (s *stream) detach(ask func() bool) (int, bool) {
	if s.raw == nil {
		return 0, false
	}
	dup := -1
	s.raw.Control(func(fd uintptr) {
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
	s.over.Store(true) // the other descriptor goes on
	return dup, true
}

// conn is the connection, whose descriptor it takes over.
func (m *Moved) conn() (net.Conn, error) {
	return connOf(os.NewFile(uintptr(m.FD), "adopted connection"))
}
