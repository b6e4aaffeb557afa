package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/web/internal/conn"

	"weir/serve"
)

// waitTimeout bounds waits for something that must happen.
const waitTimeout = 30 * time.Second

// running is a server under test.
type running struct {
	*Server
	addr string
	stop func() error // shuts the server down and returns the error of Run; idempotent
}

// start runs a server on a free port of the loopback until the test ends.
func start(t *testing.T, c Config, h http.Handler) *running {
	t.Helper()
	if c.Addr == "" && c.Listener == nil {
		c.Addr = "127.0.0.1:0"
	}
	if c.ErrorLog == nil {
		c.ErrorLog = func(line string) { t.Log(line) }
	}
	if c.Engine == "" {
		c.Engine, c.Model = underTest, modelUnderTest
		if _, ok := c.Listener.(syscall.Conn); c.Listener != nil && !ok {
			c.Model = serve.Goroutine // event loops need a descriptor
		}
	}
	s, err := New(h, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // from Run to stop, one
	go func() { ended <- s.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	return &running{Server: s, addr: s.Addr().String(), stop: stop}
}

// dial returns a client's connection, which is closed at the end of the test.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(waitTimeout))
	t.Cleanup(func() { c.Close() })
	return c
}

// wait polls until a condition holds.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(waitTimeout); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("want that %s, but it did not hold for %v", what, waitTimeout)
		}
	}
}

func saying(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) })
}

// answer reads one response and its body.
func answer(t *testing.T, r *bufio.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

func TestSetHandlerKeepsConnectionsOpen(t *testing.T) {
	s := start(t, Config{}, saying("old"))
	c := dial(t, s.addr)
	r := bufio.NewReader(c)
	for _, want := range []string{"old", "new"} {
		io.WriteString(c, get)
		if _, body := answer(t, r); body != want {
			t.Errorf("answer %q, want %q", body, want)
		}
		s.SetHandler(saying("new"))
	}
	if n := s.Connections(); n != 1 {
		t.Errorf("got %d connections, want the one", n)
	}
}

func TestInvalidConfigIsRejected(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{}, "no address"},
		{Config{Addr: busy.Addr().String()}, "choose another port"},
		{Config{Addr: "127.0.0.1:0", HTTP3: true}, "HTTP/3 needs TLS"},
		{Config{Addr: "127.0.0.1:0", TrustedProxies: []string{"lb"}}, `trusted has "lb"`},
		{Config{Addr: "127.0.0.1:0", TLS: &TLS{}}, "CertFile and KeyFile, or ACME"},
		{Config{Addr: "127.0.0.1:0", TLS: &TLS{CertFile: "a", KeyFile: "b", ACME: &ACME{}}}, "more than one source"},
		{Config{Addr: "127.0.0.1:0", TLS: &TLS{CertFile: "no-such", KeyFile: "no-such"}}, "cannot use the certificate"},
		{Config{Addr: "127.0.0.1:0", TLS: &TLS{ACME: &ACME{}}}, "the names"},
		{Config{Addr: "127.0.0.1:0", TLS: &TLS{ACME: &ACME{Names: []string{"a"}}}}, "Agreed"},
		{Config{Addr: "127.0.0.1:0", TLS: &TLS{ACME: &ACME{Names: []string{"a"}, Agreed: true}}}, "Dir"},
	} {
		s, err := New(saying(""), c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.config, err, c.want)
		}
		if err == nil {
			s.Close()
		}
	}
}

func TestSecondRunIsRejected(t *testing.T) {
	s := start(t, Config{}, saying(""))
	wait(t, "the server runs", s.running.Load)
	if err := s.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a second Run returned %v, want an error", err)
	}
}

func TestShutdownCompletesRequestsInProgress(t *testing.T) {
	// no values, closed by the handler, by the test
	entered, leave := make(chan struct{}), make(chan struct{})
	s := start(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		io.WriteString(w, "whole")
	}))
	idle, fresh, busy := dial(t, s.addr), dial(t, s.addr), dial(t, s.addr)
	io.WriteString(idle, "GET")
	io.WriteString(busy, get)
	<-entered
	wait(t, "three connections are open", func() bool { return s.Connections() == 3 })
	stopped := make(chan error, 1) // from stop, one
	go func() { stopped <- s.stop() }()
	if _, err := fresh.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a connection without a byte: got %v, want EOF", err)
	}
	idle.Close()
	close(leave)
	if _, body := answer(t, bufio.NewReader(busy)); body != "whole" {
		t.Errorf("answer %q, want it whole", body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
	if c, err := net.Dial("tcp", s.addr); err == nil {
		c.Close()
		t.Error("dialling a stopped server: got a connection, want an error")
	}
}

func TestShutdownClosesConnectionsAfterDrainTimeout(t *testing.T) {
	entered := make(chan struct{}) // no values, closed by the handler
	s := start(t, Config{DrainTimeout: 50 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}))
	io.WriteString(dial(t, s.addr), get)
	<-entered
	if err := s.stop(); !errors.Is(err, ErrDrainTimeout) || !strings.Contains(err.Error(), "cut off: 1 connections") {
		t.Errorf("Run returned %v, want that one connection was cut off", err)
	}
}

func TestAbortDrainEndsShutdown(t *testing.T) {
	entered := make(chan struct{}) // no values, closed by the handler
	var s *running
	s = start(t, Config{DrainTimeout: time.Hour}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-conn.Stopping(r.Context())
		s.AbortDrain()
		<-r.Context().Done()
	}))
	io.WriteString(dial(t, s.addr), get)
	<-entered
	if err := s.stop(); !errors.Is(err, ErrDrainTimeout) || !strings.Contains(err.Error(), "cut off: 1 connections") {
		t.Errorf("Run returned %v, want that one connection was cut off", err)
	}
}

// echo hijacks a connection and sends back its input. It says "bye" when its request's context
// ends.
func echo(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("Hijack: got %v, want the connection", err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		ended := context.AfterFunc(r.Context(), func() { c.SetReadDeadline(time.Now()) })
		defer ended()
		if _, err := io.Copy(c, rw); err != nil && r.Context().Err() != nil {
			io.WriteString(c, "bye")
		}
	})
}

const upgrade = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"

// expect reads exactly text.
func expect(t *testing.T, r io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v; want %q", got[:n], err, text)
	}
}

func TestHijackedConnectionCarriesAnyBytes(t *testing.T) {
	const early, late = "\x00 \r\n:\n", "\x01\x02\r \x00"
	s := start(t, Config{}, echo(t))
	for _, parts := range [][]string{{upgrade + early + late}, {upgrade, early, late}, {upgrade[:9], upgrade[9:] + early[:1], early[1:], late}} {
		c := dial(t, s.addr)
		for _, part := range parts {
			io.WriteString(c, part)
		}
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != 101 {
			t.Fatalf("upgrade: got %v, error %v, want 101", resp, err)
		}
		expect(t, r, early+late)
	}
}

func TestShutdownNotifiesHijackedConnections(t *testing.T) {
	s := start(t, Config{}, echo(t))
	c := dial(t, s.addr)
	io.WriteString(c, upgrade+"hello")
	r := bufio.NewReader(c)
	if _, err := http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	expect(t, r, "hello")
	if err := s.stop(); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
	expect(t, r, "bye")
}

func TestShutdownNotifiesUnboundedResponses(t *testing.T) {
	s := start(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first")
		http.NewResponseController(w).Flush()
		<-conn.Stopping(r.Context())
		io.WriteString(w, " last")
	}))
	c := dial(t, s.addr)
	io.WriteString(c, get)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, resp.Body, "first")
	if err := s.stop(); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
	expect(t, resp.Body, " last")
}

func TestDeclinedUpgradeLeavesHTTP(t *testing.T) {
	s := start(t, Config{}, saying("no"))
	c := dial(t, s.addr)
	io.WriteString(c, upgrade+get+upgrade+get)
	r := bufio.NewReader(c)
	for range 4 {
		if _, body := answer(t, r); body != "no" {
			t.Errorf("declined upgrade: got %q, want the ordinary response %q", body, "no")
		}
	}
}

func TestLimitPausesAcceptingWhileAllConnectionsAreBusy(t *testing.T) {
	// from the handler; from the test, one for each
	entered, leave := make(chan struct{}, 4), make(chan struct{})
	s := start(t, Config{MaxConns: 2}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-leave
		io.WriteString(w, "here")
	}))
	first, second := dial(t, s.addr), dial(t, s.addr)
	for _, c := range []net.Conn{first, second} {
		io.WriteString(c, get)
		<-entered
	}
	third := dial(t, s.addr)
	io.WriteString(third, get)
	if n := s.Connections(); n != 2 {
		t.Errorf("got %d open connections, want 2", n)
	}
	leave <- struct{}{}
	<-entered // the third: the one that was answered has become idle, and given way
	close(leave)
	if _, body := answer(t, bufio.NewReader(third)); body != "here" {
		t.Errorf("the connection that waited for Accept: got %q, want %q", body, "here")
	}
}

// failing is a listener whose Accept fails a few times for lack of file descriptors.
type failing struct {
	net.Listener
	faults chan error // from the test to Accept, filled beforehand
}

// exhausted is an error of Accept for want of descriptors (accept(2)).
type exhausted struct{ error }

func (e exhausted) Unwrap() error { return syscall.EMFILE }

func (exhausted) Temporary() bool { return true }
func (exhausted) Timeout() bool   { return false }

func (f failing) Accept() (net.Conn, error) {
	select {
	case err := <-f.faults:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

func TestAcceptResumesAfterTemporaryErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	faults := make(chan error, 3)
	for range cap(faults) {
		faults <- exhausted{errors.New("too many open files")}
	}
	for _, c := range []Config{{}} {
		c.Listener = failing{l, faults}
		s := start(t, c, saying("here"))
		client := dial(t, s.addr)
		io.WriteString(client, get)
		answer(t, bufio.NewReader(client))
		if n := len(faults); n != 0 {
			t.Errorf("got %d errors of Accept left, want all consumed", n)
		}
	}
}

func TestAPanicEndsItsConnectionOnly(t *testing.T) {
	logged := make(chan string, 16) // from ErrorLog to the test
	s := start(t, Config{ErrorLog: func(line string) { logged <- line }}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("on purpose")
		}
	}))
	c, other := dial(t, s.addr), dial(t, s.addr)
	fmt.Fprintf(c, "GET /panic HTTP/1.1\r\nHost: a\r\n\r\n")
	if n, err := io.Copy(io.Discard, c); n != 0 {
		t.Errorf("a handler that panics: got %d bytes (%v), want the connection's end", n, err)
	}
	if line := <-logged; !strings.Contains(line, "on purpose") {
		t.Errorf("error log: got %q, want the panic's value", line)
	}
	io.WriteString(other, get)
	answer(t, bufio.NewReader(other))
}

func TestBlockedErrorLogDoesNotBlockServing(t *testing.T) {
	takes := make(chan struct{}) // closed by the test: the log accepts lines from then on
	s := start(t, Config{ErrorLog: func(string) { <-takes }}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("on purpose") }))
	for range 3 {
		c := dial(t, s.addr)
		io.WriteString(c, get)
		if n, err := io.Copy(io.Discard, c); n != 0 || err != nil {
			t.Errorf("a handler that panics: got %d bytes and %v, want the connection's end", n, err)
		}
	}
	if err := s.stop(); err != nil {
		t.Errorf("Run returned %v, want nil although the error log blocks", err)
	}
	close(takes)
}
