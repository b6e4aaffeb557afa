package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/web/internal/conn"
)

// overUnix starts a server over Unix sockets: connections without TCP and sendfile, whose progress
// the kernel does not report.
func overUnix(t *testing.T, c Config, h http.Handler) (*running, func() net.Conn) {
	name := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	c.Listener = l
	return start(t, c, h), func() net.Conn {
		c, err := net.Dial("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(waitTimeout))
		t.Cleanup(func() { c.Close() })
		return c
	}
}

func TestServesOverAnyListener(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page")
	page := bytes.Repeat([]byte("weir."), 50_000)
	write(t, file, page)
	_, dial := overUnix(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(file)
		if err != nil {
			t.Errorf("opening the page: got %v, want a file", err)
			return
		}
		defer f.Close()
		switch c := conn.From(r.Context()); r.URL.Path {
		case "/file":
			_, err = c.RespondFile(w, 200, f, 5, int64(len(page)-5), nil)
		case "/bytes":
			_, err = c.Respond(w, 200, page[5:])
		}
		if err != nil {
			t.Errorf("%s: got %v, want the page sent", r.URL.Path, err)
		}
	}))
	c := dial()
	r := bufio.NewReader(c)
	for _, path := range []string{"/file", "/bytes"} {
		io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
		if _, body := answer(t, r); body != string(page[5:]) {
			t.Errorf("%s: got %d bytes, want %d", path, len(body), len(page)-5)
		}
	}
	io.WriteString(c, "GET / HTTP/1.1\nHost: a\n\n")
	if resp, _ := answer(t, r); resp.StatusCode != 400 {
		t.Errorf("bare LF: got %s, want 400", resp.Status)
	}
}

func TestSlowReadersAreDroppedOverAnyListener(t *testing.T) {
	gone := make(chan error, 1) // from the handler to the test, one
	_, dial := overUnix(t, impatient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for some := make([]byte, 1<<20); ; {
			if _, err := w.Write(some); err != nil {
				gone <- err
				return
			}
		}
	}))
	io.WriteString(dial(), get)
	select {
	case <-gone:
	case <-time.After(waitTimeout):
		t.Fatalf("a client that reads nothing: got a connection still open after %v, want it closed", waitTimeout)
	}
}
