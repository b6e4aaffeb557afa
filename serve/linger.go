package serve

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// The lingering close: a kernel that closes a TCP socket with input unread, or that receives more input afterwards, sends a
// reset, and the output that the peer has not taken by then is lost. So a connection that ends on this side is shut down
// for writing, and its input is discarded until the peer closes too, within bounds of time (Options.LingerClose) and of
// bytes. When the service stops, it is closed as soon as the peer's kernel has acknowledged the output.

const (
	// lingerBytes is how much input a lingering close discards at most.
	lingerBytes = 16 << 20
	// lingerPoll is how often a lingering close looks for the last acknowledgment while the service stops.
	lingerPoll = 5 * time.Millisecond
	// lingerMost is how many lingering closes a loop, or all goroutines of a run, have at once. Of more the oldest are cut short, and all
	// when descriptors are wanted: a peer that does not close keeps nobody else away.
	lingerMost = 1 << 10
	// lingerRate is how many bytes a second the peer of an ended session must take, beside Options.Linger.
	lingerRate = 1 << 10
)

// flushBound is how long so many bytes may wait for the peer of an ended session, however little it takes at a time.
func (o *Options) flushBound(bytes int) time.Duration {
	return o.Linger + time.Duration(bytes)*(time.Second/lingerRate)
}

// lingers reports whether a connection of that kind loses output when it is closed while input is unread.
func lingers(remote net.Addr) bool {
	_, unix := remote.(*net.UnixAddr) // the peer's queue outlives the socket
	return !unix
}

// half shuts the connection down for writing, once, and reports whether there is anything to linger for: not without output.
func (s *stream) half() bool {
	s.halving.Do(func() {
		c, ok := s.Conn.(interface{ CloseWrite() error })
		s.halved = ok && s.output.Load() && !s.over.Load() && lingers(s.RemoteAddr()) && c.CloseWrite() == nil
	})
	return s.halved
}

// finish is the lingering close of a connection whose handler has returned. It returns when the connection is closed.
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

// socketError is the error that the kernel has for a socket, nil when there is none. Asking takes it away.
func socketError(fd uintptr) error {
	errno, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err != nil || errno == 0 {
		return nil
	}
	return syscall.Errno(errno)
}
