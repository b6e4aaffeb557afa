package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// upstreamOf starts a server with the handler f.
func upstreamOf(t *testing.T, f http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// named starts a server that responds with its name.
func named(t *testing.T, name string) *httptest.Server {
	return upstreamOf(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, name) })
}

// raw starts a server that calls f with each connection, and then closes it.
func raw(t *testing.T, f func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{}) // closed when no connection is accepted any more
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer context.AfterFunc(ctx, func() { c.Close() })()
				defer c.Close()
				f(c)
			}()
		}
	}()
	t.Cleanup(func() { stop(); l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// request reads a request's header from c, and reports whether there was one.
func request(c net.Conn) (*http.Request, bool) {
	r, err := http.ReadRequest(bufio.NewReader(c))
	return r, err == nil
}

// dead returns an address at which no server listens.
func dead(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func newProxy(t *testing.T, cfg Config) *Proxy {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.(*Proxy).Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	return c.(*Proxy)
}

// bothWays runs a test of a composition as a chain and as a process network.
func bothWays(t *testing.T, cfg Config, around func(web.Component) web.Component, test func(t *testing.T, url string, p *Proxy)) {
	t.Helper()
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		p := newProxy(t, cfg)
		var c web.Component = p
		if around != nil {
			c = around(p)
		}
		test(t, webtest.Serve(t, way, c), p)
	})
}

// do sends a request with a text.
func do(t *testing.T, method, url, body string, fields ...string) (*http.Response, string) {
	t.Helper()
	return webtest.Do(t, method, url, strings.NewReader(body), fields...)
}
