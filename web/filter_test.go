package web_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// shout is a transform that buffers its input until it is flushed or closed.
func shout(next io.Writer) io.WriteCloser { return &shouting{next: next} }

type shouting struct {
	next io.Writer
	held []byte
}

func (s *shouting) Write(p []byte) (int, error) {
	s.held = append(s.held, bytes.ToUpper(p)...)
	return len(p), nil
}

func (s *shouting) Flush() error {
	_, err := s.next.Write(s.held)
	s.held = s.held[:0]
	return err
}

func (s *shouting) Close() error { return s.Flush() }

// filter returns a filter that always changes the body by f.
func filter(f web.Transform) web.Component {
	return web.Filter(func(*web.Conn) web.Transform { return f })
}

// described answers with a text, its type and a strong entity tag.
func described(c *web.Conn) web.Body {
	c.SetHeader("ETag", `"one"`)
	c.SetHeader("Content-Type", "text/plain")
	return web.String("0123456789abcdef")
}

func TestFilterCorrectsTheHead(t *testing.T) {
	webtest.ServeBothWays(t, web.Chain(web.Source(described), filter(shout)), func(t *testing.T, url string) {
		resp, body := get(t, url, "Range", "bytes=2-3")
		if resp.StatusCode != 200 || body != "0123456789ABCDEF" {
			t.Errorf("got %d %q, want 200 and the whole body: a range of a changed body is ignored", resp.StatusCode, body)
		}
		if h := resp.Header; h.Get("ETag") != `W/"one"` || h.Get("Accept-Ranges") != "" {
			t.Errorf("got ETag %s, Accept-Ranges %q, want a weak tag and none: the filter changed the body", h.Get("ETag"), h.Get("Accept-Ranges"))
		}
		if resp, _ := get(t, url, "If-None-Match", `W/"one"`); resp.StatusCode != 304 {
			t.Errorf("If-None-Match with the weak tag: got %d, want 304", resp.StatusCode)
		}
	})
}

func TestInactiveFilterKeepsRangesAndTags(t *testing.T) {
	webtest.ServeBothWays(t, web.Chain(web.Source(described), web.Filter(noTransform)), func(t *testing.T, url string) {
		resp, body := get(t, url, "Range", "bytes=2-3")
		if resp.StatusCode != 206 || body != "23" || resp.Header.Get("ETag") != `"one"` {
			t.Errorf("got %d %q, ETag %s, want 206, the range and the strong tag: the filter changes nothing", resp.StatusCode, body, resp.Header.Get("ETag"))
		}
	})
}

// TestFiltersWorkInTheirOrder: the first filter of a chain is the first to change the body.
func TestFiltersWorkInTheirOrder(t *testing.T) {
	brackets := func(next io.Writer) io.WriteCloser { return &bracketed{Writer: next} }
	c := web.Chain(text("a"), filter(brackets), filter(shout), filter(brackets))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		if _, body := get(t, url); body != "[[A]]" {
			t.Errorf("filters brackets, shout, brackets: got %q, want %q", body, "[[A]]")
		}
	})
}

type bracketed struct {
	io.Writer
	open bool
}

func (b *bracketed) Write(p []byte) (int, error) {
	if !b.open {
		b.open = true
		if _, err := io.WriteString(b.Writer, "["); err != nil {
			return 0, err
		}
	}
	return b.Writer.Write(p)
}

func (b *bracketed) Close() error { _, err := io.WriteString(b.Writer, "]"); return err }

// Flush of a stream reaches the client through filters that buffer.
func TestFlushPassesFilters(t *testing.T) {
	// from the client to the stream, one value for each part; never closed
	gate := make(chan struct{})
	c := web.Chain(web.Source(func(c *web.Conn) web.Body {
		return web.Stream(-1, func(w io.Writer) error {
			for _, part := range []string{"one ", "two"} {
				if _, err := io.WriteString(w, part); err != nil {
					return err
				}
				if err := web.Flush(w); err != nil {
					return err
				}
				<-gate
			}
			return nil
		})
	}), filter(shout), filter(shout))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for _, want := range []string{"ONE ", "TWO"} {
			got := make([]byte, len(want))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
				t.Fatalf("a flushed part through two filters: got %q, error %v; want %q before the next is written", got, err, want)
			}
			gate <- struct{}{}
		}
	})
}

// A piped filter is a function that reads the body from a reader and writes the changed one to a
// writer, in a goroutine of its own. J. Whitehead describes such filters in "Serving Web Content
// with Dynamic Process Networks in Go" (2011).
func TestPipedFilterTransformsTheBody(t *testing.T) {
	double := web.Piped(func(w io.Writer, r io.Reader) error {
		all, err := io.ReadAll(r)
		if err == nil {
			_, err = w.Write(append(all, all...))
		}
		return err
	})
	webtest.ServeBothWays(t, web.Chain(text("ab"), filter(double), filter(shout)), func(t *testing.T, url string) {
		if _, body := get(t, url); body != "ABAB" {
			t.Errorf("a piped filter that doubles the body, then shout: got %q, want %q", body, "ABAB")
		}
	})
}

func TestTruncatedBodyClosesTheConnection(t *testing.T) {
	breaks := web.Source(func(*web.Conn) web.Body {
		return web.Stream(-1, func(w io.Writer) error {
			_, _ = w.Write(make([]byte, 10_000))
			return io.ErrNoProgress
		})
	})
	fails := web.Piped(func(w io.Writer, r io.Reader) error { return io.ErrClosedPipe })
	for name, c := range map[string]web.Component{
		"plain":                  web.Chain(breaks),
		"through a filter":       web.Chain(breaks, filter(shout)),
		"through a piped filter": web.Chain(breaks, filter(web.Piped(func(w io.Writer, r io.Reader) error { _, err := io.Copy(w, r); return err }))),
		"by a piped filter":      web.Chain(text("ab"), filter(fails)),
	} {
		t.Run(name, func(t *testing.T) {
			webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
				resp, err := http.Get(url)
				if err != nil {
					// the connection was closed before the head: the client sees an error, too
					return
				}
				defer resp.Body.Close()
				if n, err := io.Copy(io.Discard, resp.Body); err == nil {
					t.Errorf("got %d bytes and no error, want a truncated body", n)
				}
			})
		})
	}
}

func TestAStreamSetsTrailers(t *testing.T) {
	source := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Trailer", "X-Sum")
		return web.Stream(-1, func(w io.Writer) error {
			_, err := io.WriteString(w, "body")
			web.SetTrailer(w, "X-Sum", "4")
			return err
		})
	})
	for name, c := range map[string]web.Component{"plain": source, "through a filter": web.Chain(source, filter(shout))} {
		t.Run(name, func(t *testing.T) {
			webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
				if resp, _ := get(t, url); resp.Trailer.Get("X-Sum") != "4" {
					t.Errorf("got trailers %v, want X-Sum: 4", resp.Trailer)
				}
			})
		})
	}
}

// A piped filter that fails, panics, or is followed by a filter that fails ends only its own
// exchange, and leaves no goroutine waiting.
func TestFailedPipedFilterEnds(t *testing.T) {
	through := web.Piped(func(w io.Writer, r io.Reader) error { _, err := io.Copy(w, r); return err })
	for name, c := range map[string]web.Component{
		"it fails at the end": web.Chain(text("ab"), filter(web.Piped(func(_ io.Writer, r io.Reader) error {
			_, _ = io.Copy(io.Discard, r)
			return io.ErrNoProgress
		}))),
		"it panics":                   web.Chain(text("ab"), filter(web.Piped(func(io.Writer, io.Reader) error { panic("no") }))),
		"the filter after it fails":   web.Chain(text("ab"), filter(through), filter(func(io.Writer) io.WriteCloser { return broken{} })),
		"the filter before it panics": web.Chain(text("ab"), filter(func(io.Writer) io.WriteCloser { panic("no") }), filter(through)),
	} {
		t.Run(name, func(t *testing.T) {
			for _, way := range []flow.Way{flow.Chain, flow.Network} {
				h, err := web.New(c, web.Options{Way: way, OnPanic: func(string, any, []byte) {}})
				if err != nil {
					t.Fatal(err)
				}
				func() {
					defer func() {
						if p := recover(); p != http.ErrAbortHandler {
							t.Errorf("%s: got %v, want the connection cut", way, p)
						}
					}()
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
				}()
				if err := h.Close(); err != nil || h.Active() != 0 {
					t.Errorf("%s: Close: got %v and %d active exchanges, want nil and 0", way, err, h.Active())
				}
			}
		})
	}
}

// broken accepts all writes and fails in Close.
type broken struct{}

func (broken) Write(p []byte) (int, error) { return len(p), nil }
func (broken) Close() error                { return io.ErrClosedPipe }

// An answer that replaces a coded one is sent without the coding, as its head says.
func TestAnswerInPlaceOfACodedOneIsNotCoded(t *testing.T) {
	coded := web.Filter(func(c *web.Conn) web.Transform {
		c.SetHeader("Content-Encoding", "shout")
		return shout
	})
	refused := web.When("refused", pathIs("/refused"), web.Pipe(func(c *web.Conn) { c.Reply(403) }))
	webtest.ServeBothWays(t, web.Chain(web.Source(described), coded, refused), func(t *testing.T, url string) {
		if resp, body := get(t, url); body != "0123456789ABCDEF" || resp.Header.Get("Content-Encoding") != "shout" {
			t.Errorf("GET /: got %q %v, want the coded body and its Content-Encoding", body, resp.Header)
		}
		if resp, body := get(t, url+"/refused"); body != "403 Forbidden\n" || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("GET /refused: got %q %v, want 403 without Content-Encoding", body, resp.Header)
		}
		if resp, body := get(t, url, "If-Match", `"two"`); body != "412 Precondition Failed\n" || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("If-Match of another tag: got %q %v, want 412 without Content-Encoding", body, resp.Header)
		}
	})
}

// Flush of a stream reaches the client through piped filters, whose goroutines write at the same
// time.
func TestFlushPassesPipedFilters(t *testing.T) {
	// from the client to the stream, one value for each part; never closed
	gate := make(chan struct{})
	through := web.Piped(func(w io.Writer, r io.Reader) error { _, err := io.Copy(w, r); return err })
	c := web.Chain(web.Source(func(c *web.Conn) web.Body {
		return web.Stream(-1, func(w io.Writer) error {
			for range 100 {
				if _, err := io.WriteString(w, "part "); err != nil {
					return err
				}
				if err := web.Flush(w); err != nil {
					return err
				}
				<-gate
			}
			return nil
		})
	}), filter(through), filter(shout), filter(through))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for range 100 {
			got := make([]byte, 5)
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != "PART " {
				t.Fatalf("a flushed part: got %q, error %v, want %q before the next is written", got, err, "PART ")
			}
			gate <- struct{}{}
		}
	})
}
