package serve

import (
	"errors"
	"io"
	"net"
	"strconv"
	"testing"
	"time"
)

// tally is a session that reports how many bytes it received, after the end of input and a wake-up.
type tally struct {
	n     int
	ended bool
}

func (c *tally) Input(in []byte, _ *Writer) error {
	if c.ended {
		panic("input after its end")
	}
	c.n += len(in)
	return nil
}

func (c *tally) InputEnd(out *Writer) error {
	c.ended = true
	out.WriteString("sum ")
	out.WakeAt(time.Now().Add(5 * time.Millisecond))
	return nil
}

func (c *tally) Wake(_ time.Time, out *Writer) error {
	out.WriteString(strconv.Itoa(c.n))
	return io.EOF
}

func (*tally) Close(error) {}

// countAll is tally as a handler.
func countAll(c net.Conn) {
	n, _ := io.Copy(io.Discard, c)
	io.WriteString(c, "sum "+strconv.Itoa(int(n)))
}

func answersAfterTheEnd(t *testing.T, r *running, _ Way) {
	for _, n := range []int{0, 1, 100_000} {
		c := r.dialSoon()
		c.Write(make([]byte, n))
		c.CloseWrite()
		if got, err := io.ReadAll(c); string(got) != "sum "+strconv.Itoa(n) || err != nil {
			t.Errorf("after the end of %d bytes: got %q, %v, want their sum", n, got, err)
		}
	}
	r.stopsCleanly()
}

// lasting is a session that continues after the end of its input.
type lasting struct {
	conn   Conn
	ends   chan struct{} // session -> test, one
	closed chan error    // capacity 1: Close is called once
}

func (*lasting) Input([]byte, *Writer) error   { return nil }
func (*lasting) Wake(time.Time, *Writer) error { return nil }
func (l *lasting) InputEnd(*Writer) error      { l.ends <- struct{}{}; return nil }
func (l *lasting) Close(err error)             { l.closed <- err }

// After the end of its input a session can send, is notified of a reset, and is ended by a stop.
func TestASessionGoesOnAfterTheEndOfItsInput(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		opened := make(chan *lasting, 1)
		r := startService(t, w, sessions, service{open: func(c Conn) Session {
			l := &lasting{c, make(chan struct{}, 1), make(chan error, 1)}
			opened <- l
			return l
		}}, Options{})
		half := func() (*lasting, *net.TCPConn) {
			c := r.dialSoon()
			c.CloseWrite()
			l := receive(t, opened, "the session of a connection that was half-closed")
			receive(t, l.ends, "InputEnd after a half-close")
			return l, c
		}
		stopped, c := half()
		if stopped.conn.Send([]byte("still here")); true {
			got := make([]byte, 10)
			if _, err := io.ReadFull(c, got); string(got) != "still here" {
				t.Errorf("sent after the end of input: got %q, error %v; want %q", got, err, "still here")
			}
		}
		reset, c := half()
		c.SetLinger(0)
		c.Close()
		// without output, a peer that has gone looks like one that listens
		reset.conn.Send([]byte("x"))
		if err := receive(t, reset.closed, "Close with the reset"); err == nil || err == io.EOF || errors.Is(err, ErrStopped) {
			t.Errorf("after a reset Close received %v, want the reset", err)
		}
		r.stopsCleanly()
		if err := receive(t, stopped.closed, "Close with ErrStopped"); err != ErrStopped {
			t.Errorf("after a stop Close received %v, want ErrStopped", err)
		}
	})
}

// starter is a session that starts a goroutine and waits for it.
type starter struct {
	conn Conn
	done chan struct{} // goroutine -> session, closed
}

func (s *starter) Input(_ []byte, out *Writer) error {
	out.PauseInput()
	Go(s.conn, func() { close(s.done); s.conn.Post() })
	return nil
}

func (s *starter) Wake(_ time.Time, out *Writer) error {
	<-s.done
	out.WriteString("done")
	return io.EOF
}

func (*starter) Close(error) {}

func TestGoRunsAGoroutineOfASession(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		r := startService(t, w, sessions, service{open: func(c Conn) Session { return &starter{c, make(chan struct{})} }}, Options{})
		c := r.dialSoon()
		c.Write([]byte("?"))
		if got, err := io.ReadAll(c); string(got) != "done" || err != nil {
			t.Errorf("the output of a goroutine of Go: got %q, error %v; want %q", got, err, "done")
		}
		r.stopsCleanly()
	})
}
