package serve

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// unreadBytes returns how many bytes can be read from fd.
func unreadBytes(fd int) int {
	var n int32
	syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	return int(n)
}

// A peer that sends faster than it is served has one entry in its loop's deferred reads, however
// long it continues.
func TestAFloodHasOneEntryInTheQueue(t *testing.T) {
	for _, c := range []struct {
		way  Way
		form form
	}{{Loop, sessions}, {Coroutine, handlers}, {Coroutine, sessions}} {
		t.Run(c.way.String()+"/"+string(c.form), func(t *testing.T) {
			const enough = 50 * readsPerTurn
			// loop -> sender, after each read; closed by the loop after enough reads
			readc := make(chan struct{})
			reads, longest := 0, 0 // of the loop
			flooded := func(c *conn) {
				if reads++; reads > enough {
					return
				}
				longest = max(longest, len(c.loop.deferredReads))
				before := unreadBytes(c.fd)
				readc <- struct{}{}
				for unreadBytes(c.fd) == before { // so that an edge follows each read
					time.Sleep(10 * time.Microsecond)
				}
				if reads == enough {
					close(readc)
				}
			}
			s := service{
				open:   func(c Conn) Session { return &flood{conn: loopConn(c), each: flooded} },
				handle: func(c net.Conn) { floodStraight(c, flooded) },
			}
			r := startService(t, c.way, c.form, s, Options{ReadSize: small})
			sender, more := r.dial(), make([]byte, small+small/4)
			sender.Write(more)
			for range readc {
				sender.Write(more)
			}
			sender.Close()
			r.stopsCleanly()
			if longest > 1 {
				t.Errorf("one connection was %d times in the queue, want at most once", longest)
			}
		})
	}
}

// small is the largest read of a flood, in bytes.
const small = 64

func floodStraight(c net.Conn, each func(*conn)) {
	for buf := make([]byte, small); ; {
		if _, err := c.Read(buf); err != nil {
			return
		}
		each(c.(*handlerConn).conn)
	}
}

// flood is a session that calls each at every read.
type flood struct {
	conn *conn
	each func(*conn)
}

func (f *flood) Input([]byte, *Writer) error { f.each(f.conn); return nil }
func (*flood) Wake(time.Time, *Writer) error { return nil }
func (*flood) Close(error)                   {}

// loopConn returns the loop's connection of a session.
func loopConn(c Conn) *conn {
	if h, ok := c.(*blockingSession); ok {
		return h.sessionHost.(*handlerConn).conn
	}
	return c.(*conn)
}

// The kernel takes the time to wait as a C int.
func TestPollTimeoutFitsTheKernel(t *testing.T) {
	l := &loop{startedAt: time.Now()}
	for _, c := range []struct {
		at        time.Duration // from now
		low, high int           // milliseconds
	}{
		{-time.Second, 0, 0},
		{time.Minute, 59_000, 60_000},
		{25 * 24 * time.Hour, maxPollTimeout, maxPollTimeout},
		{1<<63 - 1, maxPollTimeout, maxPollTimeout},
	} {
		one := timer{index: unset}
		l.timers.set(&one, l.at(time.Now().Add(c.at)))
		if ms := l.pollTimeout(); ms < c.low || ms > c.high {
			t.Errorf("a timer in %v: waits %d ms, want %d to %d", c.at, ms, c.low, c.high)
		}
		l.timers.remove(&one)
	}
}

// yielder is a session that calls Go, and reports whether its loop will yield before and after
// that.
type yielder struct {
	conn   Conn
	yields chan bool // session -> test, two for each Input
}

func (y *yielder) loop() *loop {
	if h, ok := y.conn.(*blockingSession); ok {
		return h.sessionHost.(*handlerConn).loop
	}
	return y.conn.(*conn).loop
}

func (y *yielder) Input([]byte, *Writer) error {
	y.yields <- y.loop().mustYield.Load()
	Go(y.conn, func() {})
	y.yields <- y.loop().mustYield.Load()
	return io.EOF
}

func (*yielder) Wake(time.Time, *Writer) error { return nil }
func (*yielder) Close(error)                   {}

// A loop yields to a goroutine that a session has started by Go before it waits for the kernel.
func TestGoHasALoopYield(t *testing.T) {
	for _, w := range []Way{Loop, Coroutine} {
		yields := make(chan bool, 2)
		r := startService(t, w, sessions, service{open: func(c Conn) Session { return &yielder{c, yields} }}, Options{})
		c := r.dial()
		c.Write([]byte("?"))
		if before, after := <-yields, <-yields; before || !after {
			t.Errorf("%s: before Go the loop is to yield: %t, after it %t, want false and true", w, before, after)
		}
		r.stopsCleanly()
	}
}
