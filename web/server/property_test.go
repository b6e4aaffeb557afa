package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"weir/web/http1"
)

// TestHandlerSeesNoMoreRequestsThanTheScanner sends streams made of critical pieces, cut at any
// position. The handler must see at most the complete requests that the scanner delimits, and the
// connection must always end.
func TestHandlerSeesNoMoreRequestsThanTheScanner(t *testing.T) {
	var whole atomic.Uint64
	s := start(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			whole.Add(1)
		}
	}))
	pieces := []string{
		"GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.0\r\nConnection: keep-alive\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n",
		"Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n\r\n", "Upgrade: x\r\n", "Expect: 100-continue\r\n", "X: y\r\n", "\r\n", "\r\n", "\r\n\r\n",
		"\n", "\r", " ", "\x00", "abc", "3\r\nabc\r\n", "0\r\n\r\n", "0\r\n", ";x", get, get, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
	}
	rapid.Check(t, func(r *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(r, "pieces"), "")
		cut := rapid.IntRange(0, len(in)).Draw(r, "cut")
		whole.Store(0)
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			r.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, in[:cut])
		io.WriteString(c, in[cut:])
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c)
		most := scanned(in)
		if got := whole.Load(); got > most {
			r.Errorf("%q: the handler saw %d requests, the scanner %d", in, got, most)
		}
	})
}

// scanned returns the number of complete requests that the scanner delimits.
func scanned(in string) uint64 {
	s := http1.New(http1.Limits{})
	for b := []byte(in); len(b) > 0; {
		n, v := s.Scan(b)
		if v != nil {
			break
		}
		b = b[n:]
	}
	return s.Requests()
}
