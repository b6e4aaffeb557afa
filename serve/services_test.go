package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// form is one of the forms of a service.
type form string

const (
	sessions   form = "session"
	handlers   form = "handler"
	responders form = "responder"
)

// service is one service in its forms, as the conformance suite runs it. Child processes find it
// by its name.
type service struct {
	name   string
	open   func(Conn) Session
	handle func(net.Conn)
	// nil: the handler is one turn of a responder
	respond func(net.Conn) Responder
	linger  time.Duration // Options.LingerTimeout; 0: shortTimeout
	flush   time.Duration // Options.FlushTimeout; 0: shortTimeout
	idle    time.Duration // Options.Idle
}

// lingerTimeout returns the Options.LingerTimeout for the tests of the service.
func (s service) lingerTimeout() time.Duration { return cmp.Or(s.linger, shortTimeout) }

// flushTimeout returns the Options.FlushTimeout for the tests of the service.
func (s service) flushTimeout() time.Duration { return cmp.Or(s.flush, shortTimeout) }

var services = map[string]service{
	"echo": {name: "echo", open: func(Conn) Session { return &echo{} }, handle: func(c net.Conn) { echoTo(c, 0) },
		respond: func(c net.Conn) Responder { return echoTurns{conn: c} }},
	"late": {name: "late", open: func(Conn) Session { return &echo{late: echoDelay} }, handle: func(c net.Conn) { echoTo(c, echoDelay) },
		respond: func(c net.Conn) Responder { return echoTurns{conn: c, late: echoDelay} }},
	"await": {name: "await", open: nil, handle: func(c net.Conn) { awaitAndEcho(c) }},
	"beat":  {name: "beat", open: func(c Conn) Session { c.Post(); return &beat{} }, handle: nil},

	"impatient": {name: "impatient", open: func(c Conn) Session { return &impatient{conn: c} }, handle: sayMuch},
	"parting":   {name: "parting", open: func(Conn) Session { return parting{} }, handle: sayMuch},
	"asleep":    {name: "asleep", open: func(Conn) Session { return &sleeper{} }, handle: sleepAndEcho},

	"count": {name: "count", open: func(Conn) Session { return &tally{} }, handle: countAll},
	"pid":   {name: "pid", open: func(Conn) Session { return saysOnce(strconv.Itoa(os.Getpid())) }},
	"idle":  {name: "idle", open: func(Conn) Session { return &echo{} }, handle: func(c net.Conn) { echoTo(c, 0) }, idle: shortTimeout},

	"tls":           {name: "tls", handle: func(c net.Conn) { echoTLS(c, onLoop, hangLimit) }},
	"tls-off":       {name: "tls-off", handle: func(c net.Conn) { echoTLS(c, OffLoop, hangLimit) }},
	"tls-hasty":     {name: "tls-hasty", handle: func(c net.Conn) { echoTLS(c, onLoop, shortTimeout) }},
	"tls-off-hasty": {name: "tls-off-hasty", handle: func(c net.Conn) { echoTLS(c, OffLoop, shortTimeout) }},

	"answer":       {name: "answer", open: func(Conn) Session { return answer{last: true} }, handle: func(c net.Conn) { giveAnswer(c) }, linger: tooLong, flush: tooLong},
	"answer-close": {name: "answer-close", open: func(c Conn) Session { return answer{conn: c} }, handle: func(c net.Conn) { giveAnswer(c); c.Close() }, linger: tooLong, flush: tooLong},
	"answer-stop":  {name: "answer-stop", open: func(Conn) Session { return answer{} }, handle: answerOn, linger: tooLong, flush: tooLong},
}

// tooLong is longer than a stop may take, and than any test waits.
const tooLong = time.Hour

// echoDelay is how long the late service waits before it echoes its input.
const echoDelay = 20 * time.Millisecond

// echo is a session that echoes its input, after a delay if late is set. It panics on panicWord and
// calls Goexit on exitWord.
type echo struct {
	late  time.Duration
	held  []byte
	until time.Time
}

var panicWord, exitWord = []byte("PANIC"), []byte("GOEXIT")

// misbehave panics, or ends its goroutine, if the input requests it.
func misbehave(in []byte) {
	if bytes.Contains(in, panicWord) {
		panic("requested by the test")
	}
	if bytes.Contains(in, exitWord) {
		runtime.Goexit()
	}
}

func (e *echo) Input(in []byte, out *Writer) error {
	misbehave(in)
	if e.late == 0 {
		out.Write(in)
		return nil
	}
	if e.held != nil {
		panic("input while it holds")
	}
	e.held, e.until = bytes.Clone(in), time.Now().Add(e.late)
	out.PauseInput()
	out.WakeAt(e.until)
	return nil
}

func (e *echo) Wake(now time.Time, out *Writer) error {
	if now.Before(e.until) {
		out.PauseInput()
		out.WakeAt(e.until)
		return nil
	}
	out.Write(e.held)
	e.held = nil
	return nil
}

func (*echo) Close(error) {}

// echoTo is echo as a handler. A Read by TLS may return bytes and the end at once.
func echoTo(c net.Conn, late time.Duration) {
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if n == 0 && err != nil {
			return
		}
		misbehave(buf[:n])
		if late > 0 {
			if err := Sleep(c, late); err != nil && err != ErrStopped {
				return
			}
		}
		if _, failed := c.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}

// awaitAndEcho is a handler that copies its input by a blocking function under Await.
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

// sleeper echoes its first input at once, and later input after a time that no test waits.
type sleeper struct {
	awake bool
	held  []byte
}

func (s *sleeper) Input(in []byte, out *Writer) error {
	if !s.awake {
		s.awake = true
		out.Write(in)
		return nil
	}
	s.held = bytes.Clone(in)
	out.PauseInput()
	out.WakeAt(time.Now().Add(tooLong))
	return nil
}

func (s *sleeper) Wake(_ time.Time, out *Writer) error {
	out.Write(s.held)
	s.held = nil
	return nil
}

func (*sleeper) Close(error) {}

// sleepAndEcho is sleeper as a handler.
func sleepAndEcho(c net.Conn) {
	buf := make([]byte, 4096)
	for first := true; ; first = false {
		n, err := c.Read(buf)
		if err != nil || !first && !errors.Is(Sleep(c, tooLong), ErrStopped) {
			return
		}
		c.Write(buf[:n])
	}
}

// much is more than the kernel takes for a peer that does not read.
const much = 16 << 20

// shortTimeout is how long services with much output wait for a peer that takes none of it.
const shortTimeout = 20 * time.Millisecond

// impatient writes much output, and closes the connection if it is not sent in time.
type impatient struct{ conn Conn }

func (*impatient) Input(_ []byte, out *Writer) error {
	out.Write(make([]byte, much))
	out.WakeAt(time.Now().Add(shortTimeout))
	return nil
}

func (i *impatient) Wake(time.Time, *Writer) error { i.conn.Close(); return nil }
func (*impatient) Close(error)                     {}

// parting writes much output and ends, so that Options.FlushTimeout ends its connection.
type parting struct{}

func (parting) Input(_ []byte, out *Writer) error {
	out.Write(make([]byte, much))
	return io.EOF
}

func (parting) Wake(time.Time, *Writer) error { return nil }
func (parting) Close(error)                   {}

// sayMuch is impatient, and parting, as a handler.
func sayMuch(c net.Conn) {
	c.Read(make([]byte, 1))
	c.SetWriteDeadline(time.Now().Add(shortTimeout))
	c.Write(make([]byte, much))
}

// beat writes a byte five times, 5 ms apart, and ends.
type beat struct{ count int }

func (*beat) Input([]byte, *Writer) error { return nil }

func (b *beat) Wake(now time.Time, out *Writer) error {
	if b.count == 5 {
		return net.ErrClosed
	}
	b.count++
	out.WriteString(".")
	out.WakeAt(now.Add(5 * time.Millisecond))
	return nil
}

func (*beat) Close(error) {}

// saysOnce answers its first input with one text, and ends.
type saysOnce string

func (s saysOnce) Input(_ []byte, out *Writer) error {
	out.WriteString(string(s))
	return io.EOF
}

func (saysOnce) Wake(time.Time, *Writer) error { return nil }
func (saysOnce) Close(error)                   {}

func runForm(ctx context.Context, w Way, f form, s service, l net.Listener, o Options) error {
	switch {
	case f == sessions:
		return Run(ctx, w, l, Service{Open: s.open, State: PerConnection}, o)
	case f == handlers && Ways[w].RunsHandlers:
		return RunBlocking(ctx, w, l, Handler{Handle: s.handle, State: PerConnection}, o)
	}
	respond := s.respond
	if f == handlers || respond == nil {
		respond = func(c net.Conn) Responder { return oneTurn{c, s.handle} }
	}
	return RunBlocking(ctx, w, l, Handler{Open: respond, State: PerConnection}, o)
}

// running is a service that runs for a test.
type running struct {
	t     testing.TB
	addr  string
	meter *Meter
	stop  func() error // stops Run and returns its result; may be called again
	// waits so long at most for the end of Run and returns its result
	endsWithin func(limit time.Duration) error
}

// startService runs s until the test ends.
func startService(t testing.TB, w Way, f form, s service, o Options) *running {
	t.Helper()
	return startServiceOver(t, listen(t), w, f, s, o)
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func startServiceOver(t testing.TB, l net.Listener, w Way, f form, s service, o Options) *running {
	t.Helper()
	o.ChildCommand = []string{os.Args[0], childFlag + w.String() + "/" + string(f) + "/" + s.name}
	if o.Meter == nil {
		o.Meter = new(Meter)
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 20 * time.Second // a stop that hangs must not pass for a drained one
	}
	o.FlushTimeout, o.IdleTimeout = cmp.Or(o.FlushTimeout, s.flushTimeout()), cmp.Or(o.IdleTimeout, s.idle)
	if o.LingerTimeout == 0 {
		o.LingerTimeout = s.lingerTimeout()
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var result error
	go func() { defer close(ended); result = runForm(ctx, w, f, s, l, o) }()
	r := &running{t: t, addr: l.Addr().String(), meter: o.Meter}
	r.stop = func() error {
		cancel()
		return r.endsWithin(60 * time.Second)
	}
	r.endsWithin = func(limit time.Duration) error {
		t.Helper()
		select {
		case <-ended:
		case <-time.After(limit):
			t.Fatalf("Run has not returned within %v, want its result", limit)
		}
		return result
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// dial connects, with a deadline that only a hang reaches.
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

// dialSoon connects as dial does, for a test whose answers all come at once: its reads and writes
// fail after hangLimit.
func (r *running) dialSoon() *net.TCPConn {
	r.t.Helper()
	c := r.dial()
	c.SetDeadline(time.Now().Add(hangLimit))
	return c
}

// hangLimit is how long a test waits for what should come at once before it reports that it did
// not.
const hangLimit = 10 * time.Second

// receive returns the next value of a channel. It ends the test when none comes within hangLimit;
// want says what the value is.
func receive[T any](t testing.TB, from <-chan T, want string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(hangLimit):
		t.Fatalf("got nothing within %v, want %s", hangLimit, want)
		panic("not reached")
	}
}

// eventually waits until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not seen within 30 s, want it: %s", what)
		}
	}
}
