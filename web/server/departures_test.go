package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/web"
	"weir/web/components/proxy"
)

// departures are requests whose clients leave before the exchange is over: once the upstream has
// received a part of the request, or, if behind is set, once the client has received it.
var departures = []struct{ name, request, behind string }{
	{"while it sends chunks", "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", ""},
	{"while it sends large content", "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\nhalf", ""},
	{"while it waits for a head", "GET /silent HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"while it waits, with its content sent", "POST /silent HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nfull", ""},
	{"while it waits for content", "GET /half HTTP/1.1\r\nHost: a\r\n\r\n", "half"},
	{"while it waits for an event", "GET /event HTTP/1.1\r\nHost: a\r\n\r\n", "data: 1"},
	{"while it receives chunks", "GET /chunks HTTP/1.1\r\nHost: a\r\n\r\n", "xxxx"},
	{"while it receives large content", "GET /large HTTP/1.1\r\nHost: a\r\n\r\n", "xxxx"},
	{"while it receives, with a request behind", "GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n", "xxxx"},
}

// slowUpstream is an upstream none of whose responses ends, except that to /next.
type slowUpstream struct {
	entered chan struct{} // from an exchange to the test, one value for each
	open    atomic.Int64  // exchanges that have not ended
	whole   atomic.Int64  // uploads that were received as if they were complete
}

// serve serves a connection.
func (u *slowUpstream) serve(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if req.URL.Path != "/next" {
			u.open.Add(1)
			defer u.open.Add(-1)
			u.exchange(c, r, req)
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
	}
}

// exchange serves a request until its connection ends.
func (u *slowUpstream) exchange(c net.Conn, r io.Reader, req *http.Request) {
	if req.URL.Path == "/upload" {
		io.ReadFull(req.Body, make([]byte, 4))
	}
	u.entered <- struct{}{}
	block := strings.Repeat("x", 1<<16)
	switch req.URL.Path {
	case "/upload":
		if _, err := io.Copy(io.Discard, req.Body); err == nil {
			u.whole.Add(1)
		}
	case "/half":
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
	case "/event":
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
	case "/chunks":
		_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for err == nil {
			_, err = fmt.Fprintf(c, "%x\r\n%s\r\n", len(block), block)
		}
	case "/large":
		_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
		for err == nil {
			_, err = io.WriteString(c, block)
		}
	}
	io.Copy(io.Discard, r) // until the proxy closes the connection
}

// startSlowUpstream returns an upstream and its address. It serves until the end of the test.
func startSlowUpstream(t *testing.T) (*slowUpstream, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	u := &slowUpstream{entered: make(chan struct{})}
	go func() { // until the listener is closed
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go u.serve(c) // until the proxy closes the connection
		}
	}()
	return u, l.Addr().String()
}

// TestAClientThatLeavesEndsItsProxiedExchange: the upstream's connection ends long before the
// limits of the proxy, no upload appears complete, and nothing is left open.
func TestAClientThatLeavesEndsItsProxiedExchange(t *testing.T) {
	u, addr := startSlowUpstream(t)
	for _, config := range proxyConfigs() {
		t.Run(config.Model.String(), func(t *testing.T) {
			before := descriptors()
			c, err := proxy.New(proxy.Config{Upstreams: []string{"http://" + addr}, MaxFails: 1, Retries: -1})
			if err != nil {
				t.Fatal(err)
			}
			h, err := web.New(web.Chain(c), web.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, config, h)
			for _, d := range departures {
				for _, reset := range []bool{false, true} {
					leave(t, s.addr, d.request, d.behind, reset, u.entered)
					wait(t, fmt.Sprintf("%s: the upstream's connection has ended, reset %v", d.name, reset), func() bool { return u.open.Load() == 0 })
					getNext(t, s.addr, "a client left "+d.name)
				}
			}
			wait(t, "no connection is left", func() bool { return s.Connections() == 0 })
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			c.(*proxy.Proxy).Close()
			h.Close()
			wait(t, fmt.Sprintf("no more than %d descriptors are open", before), func() bool { return descriptors() <= before })
		})
	}
	if n := u.whole.Load(); n > 0 {
		t.Errorf("%d broken uploads were complete for the upstream, want none", n)
	}
}

// leave sends a request and leaves once its exchange has reached the upstream, or behind has been
// received.
func leave(t *testing.T, addr, request, behind string, reset bool, entered <-chan struct{}) {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	io.WriteString(c, request)
	select {
	case <-entered:
	case <-time.After(waitTimeout):
		t.Fatalf("%q has not reached the upstream, want it to", request)
	}
	if behind != "" {
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, resp.Body, behind)
	}
	if reset {
		c.(*net.TCPConn).SetLinger(0)
	}
}

// getNext requests /next by a new connection.
func getNext(t *testing.T, addr, behind string) {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	io.WriteString(c, "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if got, _ := result(bufio.NewReader(c)); got != "200 next" {
		t.Errorf("%s: another client then got %q, want its own response", behind, got)
	}
}
