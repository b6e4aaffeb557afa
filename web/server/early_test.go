package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/proxy"
)

// earlyUpstream serves a connection of an upstream. It answers uploads when it has read their head,
// and then reads them, or, for /close, closes the connection.
func earlyUpstream(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		req, err := http.ReadRequest(r)
		switch {
		case err != nil:
			return
		case req.URL.Path == "/close":
			io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nearly")
			return
		case req.URL.Path == "/read":
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
		default:
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
		}
		io.Copy(io.Discard, req.Body)
	}
}

// earlyUploads are uploads in two pieces.
var earlyUploads = []struct{ fields, first, rest string }{
	{"Transfer-Encoding: chunked", "1000\r\n" + strings.Repeat("x", 1<<12) + "\r\n", "1000\r\n" + strings.Repeat("y", 1<<12) + "\r\n0\r\n\r\n"},
	{"Content-Length: 100000", strings.Repeat("x", 50_000), strings.Repeat("y", 50_000)},
	{"Content-Length: 100000\r\nExpect: 100-continue", strings.Repeat("x", 50_000), strings.Repeat("y", 50_000)},
}

// TestAResponseBeforeTheEndOfAnUploadIsItsOwn: the client sends the rest of the content, and
// another request, when it has the response. The rest is never taken for a request.
func TestAResponseBeforeTheEndOfAnUploadIsItsOwn(t *testing.T) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { upstream.Close() })
	go func() { // until the listener is closed
		for c, err := upstream.Accept(); err == nil; c, err = upstream.Accept() {
			go earlyUpstream(c) // until the proxy closes the connection
		}
	}()
	eachModel(t, func(t *testing.T, config Config) {
		c, err := proxy.New(proxy.Config{Upstreams: []string{"http://" + upstream.Addr().String()}, MaxFails: -1})
		if err != nil {
			t.Fatal(err)
		}
		h, err := web.New(web.Chain(c), web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, config, h)
		for _, path := range []string{"/read", "/close"} {
			for _, u := range earlyUploads {
				head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", path, u.fields)
				uploadInTwo(t, s.addr, head+u.first, u.rest)
				getNext(t, s.addr, "behind an upload that was answered early")
			}
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		c.(*proxy.Proxy).Close()
		h.Close()
	})
}

// uploadInTwo sends an upload, the rest of it behind the response, and another request.
func uploadInTwo(t *testing.T, addr, first, rest string) {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	in := bufio.NewReader(c)
	io.WriteString(c, first)
	// an upstream that closes its connection may reset it before its response was read
	if got, _ := result(in); got != "200 early" && got != "413 early" && got != "502" {
		t.Errorf("%.50q: got %q, want the upstream's response, or 502", first, got)
	}
	io.WriteString(c, rest+"GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
	if next, _ := result(in); next != "200 next" && next != "end" {
		t.Errorf("%.50q: the next response is %q, want its own or the end of the connection", first, next)
	}
}
