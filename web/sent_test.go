package web_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/web"
	"weir/web/internal/webtest"
)

// A client disconnects in the middle of a large body: Sent reports less than the whole, for every
// kind of body.
func TestSentCountsTheBytesOfATruncatedBody(t *testing.T) {
	const size, read = 64 << 20, 100_000
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]func() web.Body{
		"bytes": func() web.Body { return web.Bytes(make([]byte, size)) },
		"stream": func() web.Body {
			return web.Stream(size, func(w io.Writer) error { _, err := w.Write(make([]byte, size)); return err })
		},
		"file": func() web.Body {
			f, err := os.Open(name)
			if err != nil {
				t.Errorf("opening the body's file: got %v, want a file", err)
			}
			return web.File(f, 0, size)
		},
	}
	for kind, body := range bodies {
		sent := make(chan int64, 1)
		note := web.Pipe(func(c *web.Conn) { c.After(func(c *web.Conn) { sent <- c.Sent() }) })
		source := web.Source(func(*web.Conn) web.Body { return body() })
		webtest.ServeBothWays(t, web.Chain(note, source), func(t *testing.T, url string) {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			if _, err := io.CopyN(io.Discard, c, read); err != nil {
				t.Fatal(err)
			}
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
			if n := <-sent; n < read-1000 || n >= size {
				t.Errorf("%s: Sent: got %d of %d bytes, want at least the %d that the client read (1000 fewer at most), and not all", kind, n, size, read)
			}
		})
	}
}
