package serve

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// oneTurn is a handler as a Responder: on an event loop, its turn leaves the loop to wait.
type oneTurn struct {
	conn   net.Conn
	handle func(net.Conn)
}

func (o oneTurn) Respond() Next {
	o.handle(o.conn)
	return End
}

func (oneTurn) Close() {}

// echoTurns is echo as a Responder: each turn echoes what one read returns.
type echoTurns struct {
	conn net.Conn
	late time.Duration
}

func (e echoTurns) Respond() Next {
	buf := make([]byte, 4096)
	n, err := TryRead(e.conn, buf)
	switch {
	case err == syscall.EAGAIN:
		return Wait
	case n == 0 && err != nil:
		return End
	}
	misbehave(buf[:n])
	if e.late > 0 {
		if err := Sleep(e.conn, e.late); err != nil && err != ErrStopped {
			return End
		}
	}
	if _, failed := e.conn.Write(buf[:n]); failed != nil || err != nil {
		return End
	}
	return Again
}

func (echoTurns) Close() {}

// recorder is a Responder that reports its calls, and echoes.
type recorder struct {
	echoTurns
	turn           func(net.Conn) Next // instead of an echo; nil: none
	opened, closed *atomic.Int64
}

func (r recorder) Respond() Next {
	if r.turn != nil {
		return r.turn(r.conn)
	}
	return r.echoTurns.Respond()
}

func (r recorder) Close() { r.closed.Add(1) }

// recording returns a service of recorders, and the number of those that are not closed.
func recording(turn func(net.Conn) Next) (s service, open func() int64) {
	var opened, closed atomic.Int64
	s = service{respond: func(c net.Conn) Responder {
		opened.Add(1)
		return recorder{echoTurns: echoTurns{conn: c}, turn: turn, opened: &opened, closed: &closed}
	}}
	return s, func() int64 {
		if opened.Load() < closed.Load() {
			panic("a responder was closed twice")
		}
		return opened.Load() - closed.Load()
	}
}

// eachModel runs a test by every model that keeps connections in this process.
func eachModel(t *testing.T, test func(*testing.T, Way)) {
	for i, trait := range Ways {
		if !trait.MultiProcess && (onLinux || !trait.LinuxOnly) {
			t.Run(trait.Name, func(t *testing.T) { test(t, Way(i)) })
		}
	}
}

func TestAResponderIsClosedOnceHoweverItsConnectionEnds(t *testing.T) {
	leaving := func(c net.Conn) Next { LeaveLoop(c); return echoTurns{conn: c}.Respond() }
	waiting := func(c net.Conn) Next {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			return End
		}
		return Again
	}
	ends := map[string]func(*testing.T, *net.TCPConn){
		"at the end of its input": func(_ *testing.T, c *net.TCPConn) { c.CloseWrite() },
		"by a reset":              func(_ *testing.T, c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"by a panic":              func(_ *testing.T, c *net.TCPConn) { c.Write(panicWord) },
		"by a Goexit":             func(_ *testing.T, c *net.TCPConn) { c.Write(exitWord) },
		"by a stop":               func(*testing.T, *net.TCPConn) {},
	}
	for kind, turn := range map[string]func(net.Conn) Next{"on the loop": nil, "off the loop": leaving, "in a read that waits": waiting} {
		for name, end := range ends {
			t.Run(kind+"/"+name, func(t *testing.T) {
				eachModel(t, func(t *testing.T, w Way) {
					s, open := recording(turn)
					r := startService(t, w, responders, s, Options{OnPanic: func(PanicError) {}})
					stays, c := r.dial(), r.dial()
					if kind != "in a read that waits" {
						exchange(t, c, "first")
						exchange(t, stays, "first")
					}
					eventually(t, "both are open", func() bool { return open() == 2 })
					if end(t, c); name != "by a stop" && kind != "in a read that waits" {
						eventually(t, "one is closed", func() bool { return open() == 1 })
						exchange(t, stays, "second")
					}
					r.stopsCleanly()
					if n := open(); n != 0 {
						t.Errorf("after the stop %d responders are not closed, want 0", n)
					}
				})
			})
		}
	}
}

func TestAResponderThatIsRefusedEndsItsConnection(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		r := startService(t, w, responders, service{respond: func(net.Conn) Responder { return nil }}, Options{})
		if _, err := r.dialSoon().Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading a connection that was refused: got error %v, want its end", err)
		}
	})
}

func TestTheReadDeadlineOfAResponderGivesItATurn(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		first := true
		s, open := recording(func(c net.Conn) Next {
			if first {
				first = false
				c.SetReadDeadline(time.Now().Add(shortTimeout))
			}
			if _, err := TryRead(c, make([]byte, 1)); err == syscall.EAGAIN {
				return Wait
			}
			c.Write([]byte("late"))
			return End
		})
		r := startService(t, w, responders, s, Options{})
		got := make([]byte, 4)
		if n, err := r.dialSoon().Read(got); string(got[:n]) != "late" {
			t.Errorf("after the deadline: got %q, %v; want the answer of a turn", got[:n], err)
		}
		eventually(t, "it is closed", func() bool { return open() == 0 })
	})
}

func TestAnotherGoroutineMayCloseTheConnectionOfAResponderThatWaits(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		conns := make(chan net.Conn, 1)
		s, open := recording(func(c net.Conn) Next {
			select {
			case conns <- c:
			default:
			}
			return echoTurns{conn: c}.Respond()
		})
		r := startService(t, w, responders, s, Options{})
		client := r.dialSoon()
		exchange(t, client, "first")
		receive(t, conns, "the connection").Close()
		if n, err := client.Read(make([]byte, 1)); err == nil {
			t.Errorf("after Close: got %d bytes, want the end", n)
		}
		eventually(t, "it is closed", func() bool { return open() == 0 })
	})
}

// TestATurnThatBlocksHoldsUpNoOther, whatever it waits for: its loop goes on by another goroutine.
func TestATurnThatBlocksHoldsUpNoOther(t *testing.T) {
	for name, block := range map[string]func(c net.Conn, release <-chan struct{}){
		"off the loop": func(c net.Conn, release <-chan struct{}) { OffLoop(c, func() { <-release }) },
		"in a read":    func(c net.Conn, _ <-chan struct{}) { c.Read(make([]byte, 1)) },
		"in a sleep":   func(c net.Conn, _ <-chan struct{}) { Sleep(c, tooLong) },
		"in a write":   func(c net.Conn, _ <-chan struct{}) { c.Write(make([]byte, much)) },
	} {
		t.Run(name, func(t *testing.T) {
			eachModel(t, func(t *testing.T, w Way) {
				release := make(chan struct{})
				s, open := recording(func(c net.Conn) Next {
					buf := make([]byte, 1)
					switch _, err := TryRead(c, buf); {
					case err == syscall.EAGAIN:
						return Wait
					case err != nil:
						return End
					case buf[0] == 'b':
						block(c, release)
						return Again
					}
					c.Write(buf)
					return Again
				})
				r := startService(t, w, responders, s, Options{})
				var blocked []*net.TCPConn
				for range 5 {
					c := r.dial()
					c.Write([]byte("b"))
					blocked = append(blocked, c)
				}
				eventually(t, "all are open", func() bool { return open() == 5 })
				c := r.dialSoon()
				for range 10 {
					exchange(t, c, "x")
				}
				close(release)
				for _, c := range blocked {
					c.Close()
				}
				r.stopsCleanly()
			})
		})
	}
}
