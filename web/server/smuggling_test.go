package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"weir/web/http1"
)

// backend is a server that records the exact bytes of each connection.
type backend struct {
	net.Listener
	done  sync.WaitGroup
	mu    sync.Mutex
	conns []*bytes.Buffer
}

func newBackend(t *testing.T) *backend {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{Listener: l}
	b.done.Go(b.accept)
	t.Cleanup(func() { l.Close(); b.done.Wait() })
	return b
}

func (b *backend) accept() {
	for {
		c, err := b.Accept()
		if err != nil {
			return
		}
		b.done.Go(func() { b.serve(c) })
	}
}

func (b *backend) serve(c net.Conn) {
	defer c.Close()
	got := new(bytes.Buffer)
	b.mu.Lock()
	b.conns = append(b.conns, got)
	b.mu.Unlock()
	r := bufio.NewReader(io.TeeReader(c, locked{b, got}))
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
	}
}

// locked writes to a connection's buffer under the backend's lock.
type locked struct {
	b   *backend
	got *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	return l.got.Write(p)
}

// requests checks the recorded bytes with the strict scanner and returns the number of complete
// requests.
func (b *backend) requests(t *testing.T) (n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, got := range b.conns {
		s := http1.New(http1.Limits{})
		if at, v := s.Scan(got.Bytes()); v != nil {
			t.Errorf("the backend received %q, want valid requests only: got %v at byte %d", got, v, at)
		}
		if bytes.Contains(got.Bytes(), []byte("smuggled")) {
			t.Errorf("the backend received %q, want no smuggled request", got)
		}
		n += s.Requests()
	}
	return n
}

// proxied returns a server in front of a recording backend.
func proxied(t *testing.T) (*running, *backend) {
	b := newBackend(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	p := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: b.Addr().String()})
	}}
	p.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) { http.Error(w, err.Error(), 400) }
	return start(t, Config{}, p), b
}

// TestNoRequestIsSmuggledThroughAProxy sends each malformed request with a request hidden behind
// it. The backend must receive the valid request before it, nothing or an incomplete request of the
// malformed one, and never the hidden one.
func TestNoRequestIsSmuggledThroughAProxy(t *testing.T) {
	type fault struct{ name, text string }
	var all []fault
	for _, f := range faulty {
		all = append(all, fault{f.name, f.text})
	}
	for _, f := range chunkFaults {
		all = append(all, fault{"chunks: " + f.name, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + f.body})
	}
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			s, b := proxied(t)
			status, _ := behind(t, s.addr, f.text, false)
			if status[0] != '4' && status[0] != '5' {
				t.Errorf("got %s, want an error status", status)
			}
			if n := b.requests(t); n != 1 {
				t.Errorf("the backend received %d complete requests, want 1, the valid one", n)
			}
		})
	}
}

// TestUnusualButValidRequestsAreNormalised sends unusual requests that all programs read alike.
func TestUnusualButValidRequestsAreNormalised(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"chunk extensions", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;x=\"y\"\r\na\r\n0;z\r\n\r\n"},
		{"a coding in capitals", "POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING:\t CHUNKED \r\n\r\n01\r\na\r\n000\r\n\r\n"},
		{"trailers", "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n"},
		{"leading zeros", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0001\r\n\r\na"},
		{"absolute-form with another Host", "GET http://b/c HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"HTTP/1.0 with a body", "POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na"},
		{"connection options that name framing fields", "POST / HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\nContent-Length: 1\r\n\r\na"},
		{"a GET with a body", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 36\r\n\r\n" + strings.Repeat("a", 36)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, b := proxied(t)
			conn := dial(t, s.addr)
			io.WriteString(conn, c.text+get)
			r := bufio.NewReader(conn)
			for range 2 {
				if resp, body := answer(t, r); body != "good" {
					t.Errorf("got %s %q, want both requests answered with good", resp.Status, body)
				}
			}
			if n := b.requests(t); n != 2 {
				t.Errorf("the backend received %d requests, want 2", n)
			}
		})
	}
}
