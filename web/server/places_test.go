package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"weir/internal/certificate/certtest"
)

// claimed is a listener whose connections appear to come from given addresses, in turn.
type claimed struct {
	net.Listener
	mu    sync.Mutex
	froms []string
}

type claim struct {
	net.Conn
	from *net.TCPAddr
}

func (c claim) RemoteAddr() net.Addr { return c.from }

func (l *claimed) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	from, err := net.ResolveTCPAddr("tcp", l.froms[0])
	if err != nil {
		return nil, err
	}
	l.froms = l.froms[1:]
	return claim{c, from}, nil
}

func claiming(t *testing.T, froms ...string) *claimed {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &claimed{Listener: l, froms: froms}
}

// asks sends a request on a connection and reports whether it was answered.
func asks(t *testing.T, c net.Conn) bool {
	t.Helper()
	if _, err := io.WriteString(c, get); err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	if timedOut(err) {
		t.Fatal(err)
	}
	return err == nil
}

// gone waits until the server has closed a connection.
func gone(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Read(make([]byte, 1)); err == nil || timedOut(err) {
		t.Errorf("a connection that a newer one replaces: got %v, want it closed by the server", err)
	}
}

// rests waits until no request is in progress on any connection: a client has its response slightly
// before the server is idle.
func rests(t *testing.T, s *running) {
	t.Helper()
	wait(t, "all connections are idle", func() bool { return s.listener.connLimit.Idle() == s.listener.connLimit.Open() })
}

func TestNewConnectionReplacesTheLongestIdleOne(t *testing.T) {
	s := start(t, Config{MaxConns: 3}, saying("here"))
	var idle []net.Conn
	for range 3 { // one after the other: several event loops accept
		idle = append(idle, dial(t, s.addr))
		wait(t, "the connection is accepted", func() bool { return s.Connections() == len(idle) })
	}
	for _, c := range idle {
		if !asks(t, c) {
			t.Fatal("a connection within the limit: got no response, want one")
		}
		rests(t, s)
	}
	for i := range 2 { // requests on the others have renewed them: the first ones are idle longest
		if c := dial(t, s.addr); !asks(t, c) {
			t.Errorf("new connection %d: got no response, want one: all others are idle", i)
		}
		rests(t, s)
		gone(t, idle[i])
	}
	if !asks(t, idle[2]) {
		t.Error("a connection that was not the longest idle: got it closed, want a response")
	}
	if n := s.Connections(); n != 3 {
		t.Errorf("%d connections are open, want 3", n)
	}
}

func TestConnectionsPerClientAreLimited(t *testing.T) {
	lines := make(chan string, 16)
	many := []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1", "192.0.2.1:3"}
	l := claiming(t, append(many, "[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1", "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3")...)
	s := start(t, Config{Listener: l, MaxConns: 100, MaxConnsPerClient: 2, TrustedProxies: []string{"10.0.0.0/8"}, ErrorLog: func(line string) { lines <- line }}, saying("here"))
	var open []net.Conn
	next := func() net.Conn {
		c := dial(t, s.addr)
		open = append(open, c)
		if !asks(t, c) {
			t.Errorf("connection %d: got no response, want one", len(open))
		}
		rests(t, s)
		return c
	}
	first := next()
	for range 3 {
		next()
	}
	gone(t, first) // its client has three connections; the other client's are not affected
	for i, c := range open[1:] {
		if !asks(t, c) {
			t.Errorf("connection %d: got it closed, want a response: its client is within its limit", i+2)
		}
		rests(t, s)
	}
	sixth := next()
	next()
	next()
	gone(t, sixth)
	for range 6 {
		next()
	}
	for i, c := range open[7:] {
		if !asks(t, c) {
			t.Errorf("connection %d: got it closed, want a response: loopback and trusted proxies have no limit", i+8)
		}
	}
}

func TestClientWithBusyConnectionsGets429(t *testing.T) {
	// from the handler; closed by the test
	entered, leave := make(chan struct{}, 4), make(chan struct{})
	lines := make(chan string, 16)
	l := claiming(t, "192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1")
	s := start(t, Config{Listener: l, MaxConns: 100, MaxConnsPerClient: 1, ErrorLog: func(line string) { lines <- line }}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	}))
	busy := dial(t, s.addr)
	io.WriteString(busy, get)
	<-entered
	for range 2 {
		c := bufio.NewReader(dial(t, s.addr))
		if resp, body := answer(t, c); resp.StatusCode != 429 || !strings.Contains(body, "your address has as many connections open as it may") {
			t.Errorf("a further connection: got %d %q, want 429 and the reason", resp.StatusCode, body)
		}
		if _, err := c.ReadByte(); err == nil || timedOut(err) {
			t.Errorf("a further connection after 429: got %v, want it closed by the server", err)
		}
	}
	if said := <-lines; !strings.Contains(said, "192.0.2.1/32 has 1 connections") || len(lines) != 0 {
		t.Errorf("the log got %q and %d more lines, want one line that names the client", said, len(lines))
	}
	other := dial(t, s.addr)
	io.WriteString(other, get)
	<-entered
	close(leave)
	answer(t, bufio.NewReader(other))
	answer(t, bufio.NewReader(busy))
}

// read asks for a page, and reads it whole.
func read(c *http.Client, url string) error {
	resp, err := c.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func TestHTTP2And3ConnectionsCountAgainstTheLimit(t *testing.T) {
	a := certtest.New(t)
	// from the handler; closed by the test
	entered, leave := make(chan struct{}, 4), make(chan struct{})
	s := start(t, Config{TLS: files(t, a, t.TempDir(), "weir.test"), HTTP3: true, MaxConns: 2}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			entered <- struct{}{}
			<-leave
		}
		io.WriteString(w, r.Proto)
	}))
	config := &tls.Config{RootCAs: a.Pool, ServerName: "weir.test", NextProtos: []string{"h3"}}
	third := func() *quic.Conn {
		c, err := quic.DialAddr(t.Context(), s.addr, config, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.CloseWithError(0, "") })
		return c
	}
	ask := func(c *http.Client, path string) error { return read(c, "https://"+s.addr+path) }
	over2 := browser(t, a, s.addr)
	if _, body := fetch(t, over2); body != "HTTP/2.0" {
		t.Fatalf("over HTTP/2: got %q, want %q", body, "HTTP/2.0")
	}
	rests(t, s)
	first := third()
	wait(t, "HTTP/2's and HTTP/3's connection count", func() bool { return s.Connections() == 2 })
	h3 := &http3.Transport{TLSClientConfig: config}
	defer h3.Close()
	over3 := &http.Client{Transport: h3, Timeout: waitTimeout}
	if err := ask(over3, "/"); err != nil {
		t.Errorf("a new HTTP/3 connection while others are idle: got %v, want a response", err)
	}
	if err := ask(over3, "/"); err != nil {
		t.Errorf("another request on the HTTP/3 connection: got %v, want a response", err)
	}
	rests(t, s)
	second := third() // replaces the first two: now over3's is the longest idle
	<-first.Context().Done()
	ended := make(chan error, 1) // from the request to the test, one
	go func() { ended <- ask(over2, "/busy") }()
	<-entered // on a new connection of HTTP/2, which replaced over3's
	if n := s.Connections(); n != 2 {
		t.Errorf("%d connections are open, want 2", n)
	}
	if err := ask(over2, "/"); err != nil {
		t.Errorf("a second stream of the busy HTTP/2 connection: got %v, want a response", err)
	}
	wait(t, "second is no longer new", func() bool { return s.listener.connLimit.Idle() == 1 })
	third() // second is idle; a connection with an active stream is not
	<-second.Context().Done()
	if err := context.Cause(second.Context()); !errors.As(err, new(*quic.ApplicationError)) {
		t.Errorf("a replaced HTTP/3 connection ended with %v, want an application error", err)
	}
	close(leave)
	if err := <-ended; err != nil {
		t.Errorf("a request in progress over HTTP/2: got %v, want its response: busy connections are not replaced", err)
	}
}
