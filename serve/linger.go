package serve

import (
	"errors"
	"net"
	"os"
	"time"

	"weir/serve/lifecycle"
)

// maxLingering is how many lingering closes (lifecycle.Linger) a loop, or all goroutines of a run,
// have at once. Beyond that the oldest are cut short. When descriptors run out, all are, so that
// peers that do not close keep no other peer out.
const maxLingering = 1 << 10

// SkipLinger declares that the peer sends nothing more. When the handler ends the connection, it is
// then closed at once instead of by a lingering close, which costs three system calls more. Input
// that arrives nevertheless may cost the peer output that it has not received. Only the goroutine
// that runs the handler may call SkipLinger. c is as for [Sleep].
func SkipLinger(c net.Conn) {
	if w := waiterOf(c); w != nil {
		w.skipLinger()
	}
}

// lingers reports whether a connection loses output when it is closed with unread input.
func lingers(remote net.Addr) bool {
	// a Unix socket's peer keeps its queue when this side closes
	_, unix := remote.(*net.UnixAddr)
	return !unix
}

// shutdownWrite shuts the connection down for writing, once, and reports whether output was sent
// that could be lost.
func (s *stream) shutdownWrite() bool {
	s.halfCloseOnce.Do(func() {
		c, ok := s.Conn.(interface{ CloseWrite() error })
		s.canLoseOutput = ok && s.hasOutput.Load() && !s.noLinger.Load() && lingers(s.RemoteAddr()) && c.CloseWrite() == nil
	})
	return s.canLoseOutput
}

// finish runs the lingering close of a connection whose handler has returned. It returns when the
// connection is closed.
func (s *stream) finish() {
	defer s.Conn.Close()
	s.closeOnce.Do(func() { close(s.closedc) })
	if !s.shutdownWrite() {
		return
	}
	started, buf := time.Now(), make([]byte, 4096)
	linger := lifecycle.NewLinger(0, s.lingerTimeout)
	for {
		var f lifecycle.Facts
		stopping := s.stopping.Load()
		if stopping {
			f = s.discardArrived(buf, &linger)
		}
		step, until := linger.Next(lifecycle.Time(time.Since(started)), f)
		if step == lifecycle.Finish {
			return
		}
		n, err := s.discard(buf, started.Add(time.Duration(until)), stopping)
		if linger.Discarded(n); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// resetAtClose makes the close of the connection reset it, without a lingering close. TLS sends no
// alert, which would say that the output is complete.
func (s *stream) resetAtClose() {
	s.noLinger.Store(true)
	c := s.Conn
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	if c, ok := c.(interface{ SetLinger(sec int) error }); ok {
		c.SetLinger(0)
	}
	s.closeNow()
}

// discard reads once, until the given time at the latest.
func (s *stream) discard(buf []byte, until time.Time, stopping bool) (int, error) {
	s.Conn.SetReadDeadline(until)
	if s.stopping.Load() != stopping {
		return 0, nil // the deadline that the stop had set was replaced: check again
	}
	return s.Conn.Read(buf)
}

// discardArrived discards the input that has arrived while the service stops, and returns the
// facts.
func (s *stream) discardArrived(buf []byte, linger *lifecycle.Linger) lifecycle.Facts {
	for s.rawConn != nil && linger.Left() > 0 {
		n, err := s.readNonblocking(buf)
		if linger.Discarded(n); errors.Is(err, ErrStopped) || errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			return lifecycle.Broken
		}
	}
	return lifecycle.Stopping | lifecycle.When(unacknowledged(s.socketConn), lifecycle.OutputQueued)
}
