package conn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// allowing takes a head and so many bytes behind it, and then nothing.
type allowing struct {
	net.Conn
	left   int
	headed bool
}

var errNoMore = errors.New("no more is taken")

func (c *allowing) Write(p []byte) (n int, err error) {
	if !c.headed {
		_, body, found := bytes.Cut(p, []byte("\r\n\r\n"))
		c.headed = found
		n = len(p) - len(body)
		if _, err := c.Conn.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	takes := min(c.left, len(p)-n)
	c.left -= takes
	if _, err := c.Conn.Write(p[n : n+takes]); err != nil {
		return n, err
	}
	if n += takes; n < len(p) {
		return n, errNoMore
	}
	return n, nil
}

// allowed gives net/http connections that allow so much.
type allowed struct {
	net.Listener
	n     int
	watch *Watch
}

func (l allowed) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.watch.Line(&allowing{Conn: c, left: l.n}, nil).Plain(), nil
}

// fileOf is a file of so many bytes, open until the test ends.
func fileOf(t *testing.T, size int) *os.File {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// responses answer by size bytes, in every way that there is.
func responses(t *testing.T, size int) map[string]func(*Conn, http.ResponseWriter) (int64, error) {
	f := fileOf(t, size)
	return map[string]func(*Conn, http.ResponseWriter) (int64, error){
		"bytes": func(c *Conn, w http.ResponseWriter) (int64, error) { return c.Respond(w, 200, make([]byte, size)) },
		"file": func(c *Conn, w http.ResponseWriter) (int64, error) {
			return c.RespondFile(w, 200, f, 0, int64(size), nil)
		},
		"checked file": func(c *Conn, w http.ResponseWriter) (int64, error) {
			return c.RespondFile(w, 200, f, 0, int64(size), func() error { return nil })
		},
	}
}

func TestSentIsWhatTheKernelTook(t *testing.T) {
	for _, size := range []int{1, 1000, 5000, 200_000} {
		for name, respond := range responses(t, size) {
			for _, takes := range []int{0, size / 2, size - 1, size} {
				sent, failed := make(chan int64, 1), make(chan error, 1)
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					n, err := respond(From(r.Context()), w)
					sent <- n
					failed <- err
				}))
				s.Listener = allowed{s.Listener, takes, NewWatch(Rules{})}
				s.Config.ConnContext = NewContext
				s.Start()
				c, err := net.Dial("tcp", s.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				io.WriteString(c, get)
				n, err := <-sent, <-failed
				if n != int64(takes) || errors.Is(err, errNoMore) != (takes < size) {
					t.Errorf("%s of %d bytes, %d taken: %d and %v", name, size, takes, n, err)
				}
				c.Close()
				s.Close()
			}
		}
	}
}

func TestNothingIsSentForHead(t *testing.T) {
	sent := make(chan int64, 1)
	addr := serveOne(t, nil, func(w http.ResponseWriter, r *http.Request) {
		n, err := From(r.Context()).Respond(w, 200, make([]byte, 5000))
		if err != nil {
			t.Error(err)
		}
		sent <- n
	})
	ask(t, addr, head)
	if n := <-sent; n != 0 {
		t.Errorf("%d bytes, want none", n)
	}
}

// A client that goes away in the middle: what was sent is at least what it has read, and not all.
func TestSentWhenTheClientGoes(t *testing.T) {
	const size, read = 64 << 20, 100_000
	for name, respond := range responses(t, size) {
		sent, failed := make(chan int64, 1), make(chan error, 1)
		addr := serveOne(t, nil, func(w http.ResponseWriter, r *http.Request) {
			n, err := respond(From(r.Context()), w)
			sent <- n
			failed <- err
		})
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, get)
		if _, err := io.CopyN(io.Discard, c, read); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
		if n, err := <-sent, <-failed; err == nil || n < read-1000 || n >= size {
			t.Errorf("%s: %d bytes of %d, of which %d were read, and %v", name, n, size, read, err)
		}
	}
}

func TestSentOfAnotherServer(t *testing.T) {
	for name, respond := range responses(t, 5000) {
		if n, err := respond(From(context.Background()), httptest.NewRecorder()); n != 5000 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}
