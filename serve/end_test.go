package serve

import (
	"errors"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// partingConn is a session that answers its first input with much output, and ends.
type partingConn struct {
	parting
	conn  Conn
	ended chan error // Close -> the test; capacity 1
}

func (s *partingConn) Input(_ []byte, out *Writer) error {
	out.Write(make([]byte, much))
	return errParting
}

func (s *partingConn) Close(err error) { s.ended <- err }

var errParting = errors.New("the session has ended")

// startParting starts a service of such sessions and sends one of them its first input.
func startParting(t *testing.T, w Way, o Options) (r *running, c io.ReadWriteCloser, s *partingConn) {
	opened := make(chan *partingConn, 1) // session's owner -> test
	r = startService(t, w, sessions, service{open: func(c Conn) Session {
		s := &partingConn{conn: c, ended: make(chan error, 1)}
		opened <- s
		return s
	}}, o)
	c = r.dial()
	c.Write([]byte("?"))
	return r, c, receive(t, opened, "a session")
}

// While the last output of a session waits for its peer, Send is refused: nothing may follow it.
func TestNothingIsSentAfterTheEndOfASession(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		r, c, s := startParting(t, w, Options{FlushTimeout: tooLong, SendQueue: 1 << 30})
		eventually(t, "output that waits", func() bool { return waitsFor(s.conn) })
		eventually(t, "a Send that is refused", func() bool { return !s.conn.Send(nil) })
		if s.conn.Send([]byte("late")) {
			t.Error("Send returned true after the session's end, want false")
		}
		if got, err := io.ReadAll(c); len(got) != much || err != nil {
			t.Errorf("got %d bytes, %v; want %d, the output of the session", len(got), err, much)
		}
		if err := receive(t, s.ended, "Close"); err != errParting {
			t.Errorf("Close received %v, want the error of Input", err)
		}
		r.stopsCleanly()
	})
}

// Output that is given up must not look complete: the connection is reset, and the session learns
// why it has ended, not that its output was given up.
func TestAPeerThatTakesNothingIsReset(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows names the error of a reset otherwise")
	}
	eachInProcess(t, func(t *testing.T, w Way) {
		r, c, s := startParting(t, w, Options{FlushTimeout: 50 * time.Millisecond, LingerTimeout: tooLong})
		if err := receive(t, s.ended, "Close"); err != errParting {
			t.Errorf("Close received %v, want the error of Input", err)
		}
		eventually(t, "the connection closed", func() bool { return r.meter.Snapshot().Open == 0 })
		if n, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %d of %d bytes and the error %v, want a reset", n, much, err)
		}
		r.stopsCleanly()
	})
}
