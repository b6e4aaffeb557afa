package web_test

import (
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// counted counts calls of Close.
type counted struct {
	io.Reader
	closed *int
}

func (c counted) Close() error { *c.closed++; return nil }

// An answer may be derived from the earlier one: its closers run once, when the exchange is over. A
// new answer closes the earlier one at once.
func TestAnswerDerivedFromTheOneBeforeClosesItOnce(t *testing.T) {
	for name, c := range map[string]struct {
		again func(b web.Body, f func()) web.Body
		body  string
		soon  int // closed before the exchange is over
		calls int // of f
	}{
		"by OnClose":       {func(b web.Body, f func()) web.Body { return b.OnClose(f) }, "hello", 0, 1},
		"by OnClose twice": {func(b web.Body, f func()) web.Body { return b.OnClose(f).OnClose(f) }, "hello", 0, 2},
		"the same":         {func(b web.Body, _ func()) web.Body { return b }, "hello", 0, 0},
		"by Checked":       {func(b web.Body, _ func()) web.Body { return b.Checked(nil) }, "hello", 0, 0},
		"another":          {func(_ web.Body, f func()) web.Body { return web.String("other").OnClose(f) }, "other", 1, 1},
		"none":             {func(web.Body, func()) web.Body { return web.Body{} }, "", 1, 0},
	} {
		for _, way := range []flow.Way{flow.Chain, flow.Network} {
			var closed, soon, calls int
			first := web.Source(func(*web.Conn) web.Body { return web.Reader(counted{strings.NewReader("hello"), &closed}, -1) })
			again := web.Pipe(func(conn *web.Conn) {
				conn.Answer(c.again(conn.Body(), func() { calls++ }))
				soon = closed
			})
			h, err := web.New(web.Chain(first, again), web.Options{Way: way})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			if w.Body.String() != c.body || closed != 1 || soon != c.soon || calls != c.calls {
				t.Errorf("%s: got %q, closed %d times, %d of them at once, f called %d times; want %q, 1, %d and %d", name, w.Body, closed, soon, calls, c.body, c.soon, c.calls)
			}
			if err := h.Close(); err != nil {
				t.Errorf("%s: Close: got %v, want nil", name, err)
			}
		}
	}
}

func TestFileBodyCanBeAnsweredAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("in a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := web.Source(func(*web.Conn) web.Body {
		f, err := os.Open(name)
		if err != nil {
			t.Errorf("opening the body's file: got %v, want a file", err)
		}
		return web.File(f, 3, 6)
	})
	again := web.Pipe(func(c *web.Conn) { c.Answer(c.Body().OnClose(func() {})) })
	webtest.ServeBothWays(t, web.Chain(file, again), func(t *testing.T, url string) {
		if _, body := get(t, url); body != "a file" {
			t.Errorf("got %q, want %q", body, "a file")
		}
	})
}
