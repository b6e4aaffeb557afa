package serve

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// The lingering close. A kernel that closes a TCP socket with unread input, or that receives input
// afterwards, sends a reset, and the peer loses output that it has not received. A connection that
// this side ends is therefore shut down for writing, and its input is discarded until the peer
// closes too, within Options.LingerClose and lingerBytes. When the service stops, the connection is
// closed as soon as the peer's kernel has acknowledged the output.

const (
	// lingerBytes is how many bytes of input a lingering close discards at most.
	lingerBytes = 16 << 20
	// lingerPoll is how often a lingering close looks for the last acknowledgment while the service
	// stops.
	lingerPoll = 5 * time.Millisecond
	// lingerMost is how many lingering closes a loop, or all goroutines of a run, have at once. The
	// oldest beyond that are cut short. When descriptors run out, all are, so that peers that do
	// not close keep no other peer out.
	lingerMost = 1 << 10
	// lingerRate is how many bytes a second the peer of an ended session must take, beside
	// Options.Linger.
	lingerRate = 1 << 10
)

// flushBound is how long so many bytes may wait for the peer of an ended session, however little it
// takes at a time.
func (o *Options) flushBound(bytes int) time.Duration {
	return o.Linger + time.Duration(bytes)*(time.Second/lingerRate)
}

// lingers reports whether a connection loses output when it is closed with unread input.
func lingers(remote net.Addr) bool {
	_, unix := remote.(*net.UnixAddr) // the peer's queue outlives the socket
	return !unix
}

// half shuts the connection down for writing, once, and reports whether output was sent that could
// be lost.
func (s *stream) half() bool {
	s.halving.Do(func() {
		c, ok := s.Conn.(interface{ CloseWrite() error })
		s.halved = ok && s.output.Load() && !s.over.Load() && lingers(s.RemoteAddr()) && c.CloseWrite() == nil
	})
	return s.halved
}

// finish is the lingering close of a connection whose handler has returned. It returns when the
// connection is closed.
func (s *stream) finish() {
	defer s.Conn.Close()
	s.closing.Do(func() { close(s.closec) })
	if !s.half() {
		return
	}
	until, left, buf := time.Now().Add(s.linger), lingerBytes, make([]byte, 4096)
	for left > 0 {
		stopping := s.stopping.Load()
		if stopping && s.unread(buf, &left) != nil || stopping && !unacknowledged(s.socket) {
			return
		}
		n, err := s.discard(buf, until, stopping)
		left -= n
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(until) {
			return
		}
	}
}

// discard reads once, until the time at the longest, or for a short while when the service stops.
func (s *stream) discard(buf []byte, until time.Time, stopping bool) (int, error) {
	if soon := time.Now().Add(lingerPoll); stopping && soon.Before(until) {
		until = soon
	}
	s.Conn.SetReadDeadline(until)
	if s.stopping.Load() != stopping {
		return 0, nil // the stop's deadline was replaced: look again
	}
	return s.Conn.Read(buf)
}

// unread discards what has arrived already. An error says that the peer has finished.
func (s *stream) unread(buf []byte, left *int) error {
	for s.raw != nil && *left > 0 {
		n, err := s.readNow(buf)
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

// socketError returns the pending error of a socket, nil when there is none, and clears it.
func socketError(fd uintptr) error {
	errno, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err != nil || errno == 0 {
		return nil
	}
	return syscall.Errno(errno)
}
