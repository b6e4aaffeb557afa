package conn

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// counted counts the writes that reach it; it is no *net.TCPConn, so heads and bodies are joined by
// copying.
type counted struct {
	net.Conn
	writes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) { c.writes.Add(1); return c.Conn.Write(p) }

// wrapping gives net/http connections of this package, or counted ones.
type wrapping struct {
	net.Listener
	writes *atomic.Int64
	watch  *Watch
}

func (l wrapping) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.writes != nil {
		c = counted{c, l.writes}
	}
	return l.watch.Line(c, nil).Plain(), nil
}

func serveOne(t *testing.T, writes *atomic.Int64, h http.HandlerFunc) string {
	s := httptest.NewUnstartedServer(h)
	s.Listener = wrapping{s.Listener, writes, NewWatch(Rules{})}
	s.Config.ConnContext = NewContext
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// ask sends one request on a connection of its own and reads the answer whole.
func ask(t *testing.T, addr, request string) (*http.Response, []byte) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, request)
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

const get, head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"

func TestRespondSendsHeadAndBody(t *testing.T) {
	for _, size := range []int{0, 1, 511, 4096, maxJoined, 2*maxJoined + 1, 1 << 20} {
		testRespond(t, size, nil)
		testRespond(t, size, new(atomic.Int64))
	}
}

func testRespond(t *testing.T, size int, writes *atomic.Int64) {
	want := bytes.Repeat([]byte("weir."), size/5+1)[:size]
	addr := serveOne(t, writes, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 5000)) // a head that net/http writes in two
		if _, err := From(r.Context()).Respond(w, 203, want); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	})
	resp, body := ask(t, addr, get)
	if resp.StatusCode != 203 || !bytes.Equal(body, want) || len(resp.Header.Get("X")) != 5000 {
		t.Errorf("%d bytes: %s with %d bytes", size, resp.Status, len(body))
	}
	if resp, body := ask(t, addr, head); resp.ContentLength != int64(size) || len(body) != 0 {
		t.Errorf("HEAD of %d bytes: length %d, %d bytes of body", size, resp.ContentLength, len(body))
	}
}

func TestRespondIsOneWrite(t *testing.T) {
	writes := new(atomic.Int64)
	addr := serveOne(t, writes, func(w http.ResponseWriter, r *http.Request) {
		From(r.Context()).Respond(w, 200, make([]byte, 4096))
	})
	ask(t, addr, get)
	if n := writes.Load(); n != 1 {
		t.Errorf("4,096 bytes took %d writes, want 1", n)
	}
	ask(t, addr, head)
	if n := writes.Load(); n != 2 {
		t.Errorf("a HEAD took %d writes, want 1", n-1)
	}
}

func TestAStatusWithoutABodyHasNone(t *testing.T) {
	addr := serveOne(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if _, err := From(r.Context()).Respond(w, 304, []byte("not to be seen")); err != nil {
			t.Error(err)
		}
	})
	resp, body := ask(t, addr, get)
	if resp.StatusCode != 304 || len(body) != 0 {
		t.Errorf("%s with %q", resp.Status, body)
	}
}

func TestRespondFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	text := bytes.Repeat([]byte("0123456789"), 100_000)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	answer := func(length int64, want error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			f, err := os.Open(name)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if _, err := From(r.Context()).RespondFile(w, 206, f, 7, length, nil); !errors.Is(err, want) {
				t.Errorf("%d bytes: %v, want %v", length, err, want)
			}
		}
	}
	for _, writes := range []*atomic.Int64{nil, new(atomic.Int64)} {
		for _, length := range []int64{0, 1, 5000, 900_000} {
			resp, body := ask(t, serveOne(t, writes, answer(length, nil)), get)
			if resp.StatusCode != 206 || !bytes.Equal(body, text[7:7+length]) {
				t.Errorf("%d bytes: %s with %d bytes", length, resp.Status, len(body))
			}
		}
	}
	c, err := net.Dial("tcp", serveOne(t, nil, answer(2_000_000, io.ErrUnexpectedEOF)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, get)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err != io.ErrUnexpectedEOF || n != int64(len(text)-7) {
		t.Errorf("a file that is shorter than said: %d bytes and %v, want all there is and an unexpected end", n, err)
	}
}

// TestAFileThatChangedIsNotSentWhole wants the client to see that something is missing.
func TestAFileThatChangedIsNotSentWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	changed := errors.New("it is another one")
	for _, size := range []int{0, 1, lastPiece, lastPiece + 1, 1_000_000} {
		if err := os.WriteFile(name, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, same := range []error{nil, changed} {
			want := same
			if size == 0 { // there is nothing to keep back
				want = nil
			}
			addr := serveOne(t, nil, func(w http.ResponseWriter, r *http.Request) {
				f, err := os.Open(name)
				if err != nil {
					t.Error(err)
					return
				}
				defer f.Close()
				if _, err := From(r.Context()).RespondFile(w, 200, f, 0, int64(size), func() error { return same }); err != want {
					t.Errorf("%d bytes: %v, want %v", size, err, want)
				}
			})
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(c, get)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			whole := n == int64(size) && err == nil
			if whole != (want == nil) || resp.ContentLength != int64(size) {
				t.Errorf("%d bytes, %v: %d came, %v, of %d", size, want, n, err, resp.ContentLength)
			}
			c.Close()
		}
	}
}

func TestPlainThingsWithAnotherServer(t *testing.T) {
	w := httptest.NewRecorder()
	if _, err := From(context.Background()).Respond(w, 201, []byte("body")); err != nil {
		t.Fatal(err)
	}
	if w.Code != 201 || w.Body.String() != "body" || w.Header().Get("Content-Length") != "4" {
		t.Errorf("%d, %q, %v", w.Code, w.Body, w.Header())
	}
}

// changing writes something else than it is given, as a filter around a ResponseWriter may.
type changing struct{ http.ResponseWriter }

func (c changing) Write(p []byte) (int, error) {
	_, err := c.ResponseWriter.Write(bytes.ToUpper(p))
	return len(p), err
}

func TestAWrappedWriterSeesTheBody(t *testing.T) {
	addr := serveOne(t, nil, func(w http.ResponseWriter, r *http.Request) {
		From(r.Context()).Respond(changing{w}, 200, []byte("body"))
	})
	if _, body := ask(t, addr, get); string(body) != "BODY" {
		t.Errorf("body %q, want BODY", body)
	}
}

func TestHijackReachesTheConnection(t *testing.T) {
	addr := serveOne(t, nil, func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if !From(r.Context()).line.hijacked.Load() {
			t.Error("the connection does not know that it was taken over")
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	if _, body := ask(t, addr, get); string(body) != "ok" {
		t.Errorf("body %q, want ok", body)
	}
}

func TestAFailedWriteEndsTheConnection(t *testing.T) {
	failed := make(chan error, 1) // from the handler to the test, one
	addr := serveOne(t, nil, func(w http.ResponseWriter, r *http.Request) {
		c := From(r.Context())
		c.tcp.CloseWrite()
		_, err := c.Respond(w, 200, nil)
		failed <- err
		if _, err := c.Write([]byte("more")); err == nil {
			t.Error("a write after half a response succeeds")
		}
	})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, get)
	if err := <-failed; err == nil {
		t.Error("Respond on a connection that cannot be written to gives no error")
	}
	if n, err := io.Copy(io.Discard, c); n != 0 {
		t.Errorf("%d bytes, %v: want none", n, err)
	}
}
