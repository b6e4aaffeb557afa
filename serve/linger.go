package serve

import (
	"errors"
	"net"
	"os"
	"time"
)

// The lingering close. A kernel that closes a TCP socket with unread input, or that receives input
// afterwards, sends a reset. The peer then loses output that it has not received. So a connection
// that this side ends is shut down for writing, and its input is discarded until the peer closes,
// within Options.LingerTimeout and maxDiscard. When the service stops, the connection is closed as
// soon as the peer's kernel has acknowledged the output.

const (
	// maxDiscard is how many bytes of input a lingering close discards at most.
	maxDiscard = 16 << 20
	// lingerPoll is how often a lingering close checks for the last acknowledgment while the
	// service stops.
	lingerPoll = 5 * time.Millisecond
	// maxLingering is how many lingering closes a loop, or all goroutines of a run, have at once.
	// Beyond that the oldest are cut short. When descriptors run out, all are, so that peers that
	// do not close keep no other peer out.
	maxLingering = 1 << 10
	// minFlushRate is how many bytes a second the peer of an ended session must take, besides
	// Options.FlushTimeout.
	minFlushRate = 1 << 10
)

// flushBound returns how long so many bytes may wait for the peer of an ended session, even if it
// takes some now and then.
func (o *Options) flushBound(bytes int) time.Duration {
	return o.FlushTimeout + time.Duration(bytes)*(time.Second/minFlushRate)
}

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
	until, left, buf := time.Now().Add(s.lingerTimeout), maxDiscard, make([]byte, 4096)
	for left > 0 {
		stopping := s.stopping.Load()
		if stopping && s.discardArrived(buf, &left) != nil || stopping && !unacknowledged(s.socketConn) {
			return
		}
		n, err := s.discard(buf, until, stopping)
		left -= n
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(until) {
			return
		}
	}
}

// discard reads once, until the given time at the latest, or for lingerPoll while the service
// stops.
func (s *stream) discard(buf []byte, until time.Time, stopping bool) (int, error) {
	if soon := time.Now().Add(lingerPoll); stopping && soon.Before(until) {
		until = soon
	}
	s.Conn.SetReadDeadline(until)
	if s.stopping.Load() != stopping {
		return 0, nil // the deadline that the stop had set was replaced: check again
	}
	return s.Conn.Read(buf)
}

// discardArrived discards the input that has arrived. An error means that the peer has finished.
func (s *stream) discardArrived(buf []byte, left *int) error {
	for s.rawConn != nil && *left > 0 {
		n, err := s.readNonblocking(buf)
		if *left -= n; errors.Is(err, ErrStopped) || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
