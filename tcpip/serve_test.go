package tcpip

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/serve"
	"weir/serve/lifecycle"
	"weir/tcpip/link"
)

// ordered is a session that follows its peer's orders.
type ordered struct {
	c      serve.Conn
	opened chan *ordered // to the test; one for each connection
	ended  chan error    // to the test: the argument of Close
	held   []byte
}

func (o *ordered) Input(in []byte, out *serve.Writer) error {
	switch order := string(in); order {
	case "panic":
		panic("as ordered")
	case "bye":
		out.WriteString("goodbye")
		return io.EOF
	case "hold":
		out.PauseInput()
	case "late":
		o.held = []byte("late it is")
		out.WakeAt(time.Now().Add(5 * time.Millisecond))
	case "much":
		out.Write(bytes.Repeat([]byte("much "), 4<<20/5))
		return io.EOF
	default:
		out.Write(in)
	}
	return nil
}

func (o *ordered) Wake(_ time.Time, out *serve.Writer) error {
	out.Write(append(o.held, " woken"...))
	return nil
}

func (o *ordered) Close(err error) { o.ended <- err }

// orders runs a service of such sessions on b, and returns a function that dials it from a.
func orders(t *testing.T, run Run, o serve.Options) (b *Stack, v *Server, open func() (net.Conn, *ordered)) {
	a, b := hostsBy(t, run, link.PairConfig{})
	opened := make(chan *ordered, 16)
	v, err := b.Serve(":7", serve.Service{Open: func(c serve.Conn) serve.Session {
		s := &ordered{c: c, opened: opened, ended: make(chan error, 1)}
		opened <- s
		return s
	}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return b, v, func() (net.Conn, *ordered) { return dial(t, a, "tcp", "10.0.0.2:7"), <-opened }
}

// expect sends an order and checks the answer.
func expect(t *testing.T, c net.Conn, send, want string) {
	t.Helper()
	if _, err := io.WriteString(c, send); err != nil {
		t.Fatalf("sending %q: got error %v, want none", send, err)
	}
	p := make([]byte, len(want))
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(c, p); err != nil || string(p) != want {
		t.Fatalf("the answer to %q is %q (%v), want %q", send, p, err, want)
	}
}

func TestSessionsRunInTheReadersGoroutine(t *testing.T) { ways(t, testSessions) }

func testSessions(t *testing.T, run Run) {
	_, v, open := orders(t, run, serve.Options{})
	if got := v.Addr().String(); got != "[::]:7" {
		t.Errorf("got the server's address %s, want [::]:7", got)
	}
	c, s := open()
	expect(t, c, "hello", "hello")
	expect(t, c, "late", "late it is woken")
	s.held = nil // the session waits for the test: no other goroutine uses it
	s.c.Post()
	expect(t, c, "", " woken")
	if !s.c.Send([]byte("from elsewhere")) {
		t.Error("Send from another goroutine returned false, want true while the session is open")
	}
	expect(t, c, "", "from elsewhere")
	if s.c.RemoteAddr().String() != c.LocalAddr().String() {
		t.Errorf("got the peer %v, want %v", s.c.RemoteAddr(), c.LocalAddr())
	}
	c.(*Conn).CloseWrite()
	if err := <-s.ended; err != io.EOF {
		t.Errorf("the session ended with %v, want io.EOF", err)
	}
	if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
		t.Errorf("after the session's end: got %q, error %v; want the end of the stream", rest, err)
	}
	if s.c.Send([]byte("too late")) {
		t.Error("Send returned true after the session's end, want false")
	}
}

func TestASessionThatHoldsHasNoInputUntilItIsWoken(t *testing.T) {
	_, _, open := orders(t, RunChain, serve.Options{})
	c, s := open()
	expect(t, c, "x", "x")
	io.WriteString(c, "hold") //nolint:errcheck // the next one fails then
	for !s.holds() {
		time.Sleep(time.Millisecond)
	}
	io.WriteString(c, "behind it") //nolint:errcheck // the test checks its effect
	for s.c.(*sessionConn).c.buffered() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.c.Post()
	expect(t, c, "", " wokenbehind it")
}

func (o *ordered) holds() bool {
	v := o.c.(*sessionConn)
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	return v.life.State() == lifecycle.Paused
}

// The output of an ended session is sent, even if it exceeds the send buffer and takes long.
func TestOutputOfAnEndedSessionIsSent(t *testing.T) {
	_, _, open := orders(t, RunChain, serve.Options{})
	for order, want := range map[string]string{"bye": "goodbye", "much": strings.Repeat("much ", 4<<20/5)} {
		c, s := open()
		io.WriteString(c, order) //nolint:errcheck // see what comes
		if err := <-s.ended; err != io.EOF {
			t.Errorf("%s: the session ended with %v, want io.EOF", order, err)
		}
		if got, err := io.ReadAll(c); err != nil || string(got) != want {
			t.Errorf("%s: %d bytes came, want %d (%v)", order, len(got), len(want), err)
		}
	}
}

func TestAStalledPeerIsResetAfterLinger(t *testing.T) {
	b, _, open := orders(t, RunChain, serve.Options{FlushTimeout: 50 * time.Millisecond})
	c, s := open()
	io.WriteString(c, "much") //nolint:errcheck // the test checks its effect
	<-s.ended
	for len(b.conns.all()) > 0 {
		time.Sleep(time.Millisecond)
	}
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, c); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("a stalled peer reads to the end (%v), want a reset", err)
	}
}

func TestAPanicEndsItsSessionAndNoOther(t *testing.T) {
	heard := make(chan serve.PanicError, 1)
	_, _, open := orders(t, RunChain, serve.Options{OnPanic: func(p serve.PanicError) { heard <- p }})
	c, s := open()
	other, _ := open()
	io.WriteString(c, "panic") //nolint:errcheck // the test checks its effect
	if p := <-heard; p.Value != "as ordered" || len(p.Stack) == 0 {
		t.Errorf("OnPanic: got %v with a stack of %d bytes, want the value %q with a stack", p.Value, len(p.Stack), "as ordered")
	}
	var p *serve.PanicError
	if err := <-s.ended; !errors.As(err, &p) {
		t.Errorf("the session that panicked ended with %v, want a *serve.PanicError", err)
	}
	io.Copy(io.Discard, c) //nolint:errcheck // until it is closed
	expect(t, other, "still there", "still there")
}

func TestASessionEndsWithItsCause(t *testing.T) { ways(t, testASessionEndsWithItsCause) }

func testASessionEndsWithItsCause(t *testing.T, run Run) {
	ends := map[string]struct {
		end  func(b *Stack, v *Server, c net.Conn, s *ordered)
		want error
	}{
		"its owner closes it":    {func(_ *Stack, _ *Server, _ net.Conn, s *ordered) { s.c.Close() }, serve.ErrClosed},
		"the service stops":      {func(_ *Stack, v *Server, _ net.Conn, _ *ordered) { v.Close() }, serve.ErrStopped},
		"the stack stops":        {func(b *Stack, _ *Server, _ net.Conn, _ *ordered) { b.Close() }, net.ErrClosed},
		"the peer closes":        {func(_ *Stack, _ *Server, c net.Conn, _ *ordered) { c.Close() }, io.EOF},
		"the peer breaks it off": {func(_ *Stack, _ *Server, c net.Conn, _ *ordered) { c.(*Conn).abort() }, syscall.ECONNRESET},
	}
	for name, e := range ends {
		for _, hold := range []bool{false, true} {
			b, v, open := orders(t, run, serve.Options{})
			c, s := open()
			expect(t, c, "x", "x")
			if hold {
				io.WriteString(c, "hold") //nolint:errcheck // the test checks its effect
				for !s.holds() {
					time.Sleep(time.Millisecond)
				}
				if e.want == io.EOF {
					s.c.Post() // a session on hold does not see the end before
					expect(t, c, "", " woken")
				}
			}
			e.end(b, v, c, s)
			if err := <-s.ended; !errors.Is(err, e.want) {
				t.Errorf("%s (held: %v): the session ended by %v, want %v", name, hold, err, e.want)
			}
		}
	}
}

func TestAServiceMayRefuseConnections(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	v, err := b.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return nil }}, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, a, "tcp", "10.0.0.2:7")
	if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
		t.Errorf("a refused client: got %q, error %v; want the end of the stream", rest, err)
	}
	if _, err := b.Serve(":7", serve.Service{}, serve.Options{}); err == nil {
		t.Error("a second Serve at the port succeeded, want EADDRINUSE")
	}
	v.Close()
	if _, err := a.Dial("tcp", "10.0.0.2:7"); err == nil {
		t.Error("dialing a closed server succeeded, want an error")
	}
}
