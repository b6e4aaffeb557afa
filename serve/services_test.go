package serve

import (
	"bytes"
	"context"
	"net"
	"os"
	"testing"
	"time"
)

// form is one of the two forms of a service.
type form string

const (
	sessions form = "session"
	handlers form = "handler"
)

// service is one service in both forms, as the conformance suite runs it. Children find it by its name.
type service struct {
	name   string
	open   func(Conn) Session
	handle func(net.Conn)
}

var services = map[string]service{
	"echo":  {"echo", func(Conn) Session { return &echo{} }, func(c net.Conn) { echoTo(c, 0) }},
	"late":  {"late", func(Conn) Session { return &echo{late: lateness} }, func(c net.Conn) { echoTo(c, lateness) }},
	"await": {"await", nil, func(c net.Conn) { awaitAndEcho(c) }},
	"beat":  {"beat", func(c Conn) Session { c.Post(); return &beat{} }, nil},
}

// lateness is how long the late service waits before it echoes what it read.
const lateness = 20 * time.Millisecond

// echo says again what it hears, late if it is told so, and panics when it hears panicWord.
type echo struct {
	late  time.Duration
	held  []byte
	until time.Time
}

var panicWord = []byte("PANIC")

func (e *echo) Input(in []byte, out *Writer) error {
	if bytes.Contains(in, panicWord) {
		panic("told to")
	}
	if e.late == 0 {
		out.Write(in)
		return nil
	}
	if e.held != nil {
		panic("input while it holds")
	}
	e.held, e.until = bytes.Clone(in), time.Now().Add(e.late)
	out.Hold()
	out.WakeAt(e.until)
	return nil
}

func (e *echo) Wake(now time.Time, out *Writer) error {
	if now.Before(e.until) {
		out.Hold()
		out.WakeAt(e.until)
		return nil
	}
	out.Write(e.held)
	e.held = nil
	return nil
}

func (*echo) Close(error) {}

// echoTo is echo, straight down.
func echoTo(c net.Conn, late time.Duration) {
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], panicWord) {
			panic("told to")
		}
		if late > 0 && Sleep(c, late) != nil {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// awaitAndEcho has its bytes turned over by a goroutine that blocks.
func awaitAndEcho(c net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		turned := make(chan []byte)
		err = Await(c, func() {
			go func() { turned <- bytes.Clone(buf[:n]) }()
			buf = <-turned
		})
		if err != nil {
			return
		}
		c.Write(buf)
		buf = make([]byte, 4096)
	}
}

// beat says a byte five times, 5 ms apart, and ends.
type beat struct{ said int }

func (*beat) Input([]byte, *Writer) error { return nil }

func (b *beat) Wake(now time.Time, out *Writer) error {
	if b.said == 5 {
		return net.ErrClosed
	}
	b.said++
	out.WriteString(".")
	out.WakeAt(now.Add(5 * time.Millisecond))
	return nil
}

func (*beat) Close(error) {}

func runForm(ctx context.Context, w Way, f form, s service, l net.Listener, o Options) error {
	if f == sessions {
		return Run(ctx, w, l, Service{Open: s.open, State: PerConnection}, o)
	}
	return RunBlocking(ctx, w, l, Handler{Handle: s.handle, State: PerConnection}, o)
}

// running is a service that runs for a test.
type running struct {
	t     testing.TB
	addr  string
	meter *Meter
	stop  func() error // ends it and returns what Run returned; may be called again
}

// begin runs s until the test ends.
func begin(t testing.TB, w Way, f form, s service, o Options) *running {
	t.Helper()
	return beginOver(t, listen(t), w, f, s, o)
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func beginOver(t testing.TB, l net.Listener, w Way, f form, s service, o Options) *running {
	t.Helper()
	o.Child = []string{os.Args[0], childFlag + w.String() + "/" + string(f) + "/" + s.name}
	if o.Meter == nil {
		o.Meter = new(Meter)
	}
	if o.Drain == 0 {
		o.Drain = 20 * time.Second // a stop that hangs must not pass for one that drained
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var result error
	go func() { defer close(ended); result = runForm(ctx, w, f, s, l, o) }()
	r := &running{t: t, addr: l.Addr().String(), meter: o.Meter}
	r.stop = func() error {
		cancel()
		select {
		case <-ended:
		case <-time.After(60 * time.Second):
			t.Fatal("Run does not return")
		}
		return result
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// dial connects, with a deadline that only a hang meets.
func (r *running) dial() *net.TCPConn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(60 * time.Second))
	r.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// eventually waits until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never seen:", what)
		}
	}
}
