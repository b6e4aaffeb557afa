package serve

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"
	"time"
)

// slow is a session with more output than its peer takes. It reports each wake-up, and then adds a
// word to its output.
type slow struct {
	conn  Conn
	woken chan int // session -> test: the number of the wake-up; the test takes them all
	wakes int
	every time.Duration // 0: only when it is posted
}

const word = "awake."

func (s *slow) Input(_ []byte, out *Writer) error {
	out.Write(make([]byte, much))
	return s.again(out)
}

func (s *slow) Wake(_ time.Time, out *Writer) error {
	s.wakes++
	out.WriteString(word)
	s.woken <- s.wakes
	return s.again(out)
}

func (s *slow) again(out *Writer) error {
	if s.every > 0 {
		out.WakeAt(time.Now().Add(s.every))
	}
	return nil
}

func (*slow) Close(error) {}

// While output waits for a slow peer, timers and posts still wake the session, and all output
// arrives once and in order.
func TestASessionWithASlowPeerIsReached(t *testing.T) {
	const wakes = 20
	for name, every := range map[string]time.Duration{"by time": 2 * time.Millisecond, "by Post": 0} {
		eachInProcess(t, func(t *testing.T, w Way) {
			t.Run(name, func(t *testing.T) {
				opened := make(chan *slow, 1) // session's owner -> test
				s := service{open: func(c Conn) Session {
					s := &slow{conn: c, woken: make(chan int, 1000), every: every}
					opened <- s
					return s
				}}
				r := startService(t, w, sessions, s, Options{})
				c := r.dial()
				c.Write([]byte("?"))
				session := <-opened
				eventually(t, "output that waits", func() bool { return waitsFor(session.conn) })
				for i := 1; i <= wakes; i++ {
					if every == 0 {
						session.conn.Post()
					}
					if got := <-session.woken; got != i {
						t.Fatalf("wake-up %d: got number %d, want them in order", i, got)
					}
				}
				c.CloseWrite()
				got, err := io.ReadAll(io.LimitReader(c, much+wakes*int64(len(word))))
				if err != nil || bytes.ContainsFunc(got[:much], func(x rune) bool { return x != 0 }) {
					t.Fatalf("got %d bytes, error %v; want %d, the first %d as they were written", len(got), err, much+wakes*int64(len(word)), much)
				}
				if want := bytes.Repeat([]byte(word), wakes); !bytes.Equal(got[much:], want) {
					t.Errorf("after %d bytes came %q, want %q", much, got[much:], want)
				}
				r.stopsCleanly()
			})
		})
	}
}

// waitsFor reports whether output for the peer of c is queued, or being written.
func waitsFor(c Conn) bool {
	h, ok := c.(*blockingSession)
	if !ok {
		return hasQueuedOutput(c)
	}
	h.outbox.mu.Lock()
	defer h.outbox.mu.Unlock()
	return h.outbox.ownerWriting || len(h.outbox.queue) > 0
}

// The Conn of a session that Open refused is dead: its descriptor may belong to another connection.
func TestTheConnOfARefusedSessionIsDead(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		refused := make(chan Conn, 1) // Open -> test
		var opened atomic.Bool
		r := startService(t, w, sessions, service{open: func(c Conn) Session {
			if !opened.Swap(true) {
				refused <- c
				return nil
			}
			return &echo{}
		}}, Options{})
		if _, err := r.dial().Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("reading a refused connection: got error %v, want io.EOF", err)
		}
		old := <-refused
		for range 8 {
			c := r.dial()
			exchange(t, c, "mine")
			if old.Send([]byte("foreign")) {
				t.Error("Send returned true for a refused connection, want false")
			}
			old.Post()
			exchange(t, c, "still mine")
		}
		r.stopsCleanly()
	})
}
