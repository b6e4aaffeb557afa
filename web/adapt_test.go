package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/web"
	"weir/web/internal/webtest"
)

// composed returns a handler with a pipe before it, and a filter and a pipe behind.
func composed(h http.HandlerFunc) web.Component {
	return web.Chain(mark("before"), web.FromHTTP(h), filter(shout), mark("behind"))
}

func TestComponentsBehindAHandlerSeeItsFields(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-From", "handler")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	}
	c := web.Chain(web.FromHTTP(http.HandlerFunc(h)), web.Pipe(func(c *web.Conn) {
		if c.Status() == http.StatusTeapot && c.Header("X-From") == "handler" && strings.HasPrefix(c.Header("Content-Type"), "text/plain") {
			c.SetHeader("X-Seen", "yes")
		}
	}))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		resp, body := get(t, url)
		if resp.StatusCode != http.StatusTeapot || body != "short and stout" || resp.Header.Get("X-Seen") != "yes" || resp.ContentLength != 15 {
			t.Errorf("got %d %q %v, want 418, the body of 15 bytes, and X-Seen from a pipe that saw the handler's fields", resp.StatusCode, body, resp.Header)
		}
	})
}

func TestLargeBodyOfAHandlerPassesFilters(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		for range 100 {
			_, _ = io.WriteString(w, strings.Repeat("a", 1000))
		}
	}
	webtest.ServeBothWays(t, composed(h), func(t *testing.T, url string) {
		if resp, body := get(t, url); body != strings.Repeat("A", 100_000) || resp.Header["X-Way"] == nil {
			t.Errorf("got %d bytes, fields %v, want 100000 bytes in capitals and X-Way", len(body), resp.Header)
		}
		resp, err := http.Head(url)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("HEAD: got %v, error %v, want 200", resp, err)
		}
		resp.Body.Close()
	})
}

func TestFlushTrailersAndInformationalResponsesPassFilters(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-End")
		_, _ = io.WriteString(w, "now ")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "and then")
		w.Header().Set("X-End", "end")
	}
	webtest.ServeBothWays(t, composed(h), func(t *testing.T, target string) {
		hints := 0
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code == 103 && h.Get("Link") != "" {
				hints++
			}
			return nil
		}}
		r, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", target, nil)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "NOW AND THEN" || hints != 1 || resp.Trailer.Get("X-End") != "end" {
			t.Errorf("got %q, error %v, %d hints, trailers %v, want NOW AND THEN, 1 hint and the trailer X-End", body, err, hints, resp.Trailer)
		}
	})
}

func TestHandlersAndComponentsCanHijack(t *testing.T) {
	talk := func(c net.Conn, rw *bufio.ReadWriter) {
		defer c.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("heard " + line)
		_ = rw.Flush()
	}
	byHandler := func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		talk(c, rw)
	}
	// net/http sends the head, as WebSocket libraries do
	byHead := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("heard " + line)
		_ = rw.Flush()
	}
	for name, c := range map[string]web.Component{
		"by a handler":   composed(byHandler),
		"by its head":    composed(byHead),
		"by a component": web.Chain(web.WithTraits(web.Pipe(func(c *web.Conn) { c.Hijack(talk) }), web.Traits{}), text("never"), filter(shout)),
	} {
		t.Run(name, func(t *testing.T) {
			webtest.ServeBothWays(t, c, func(t *testing.T, target string) {
				u, _ := url.Parse(target)
				conn, err := net.DialTimeout("tcp", u.Host, 10*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nyou\n")
				all, err := io.ReadAll(conn)
				if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 101 ") || !strings.HasSuffix(string(all), "\r\n\r\nheard you\n") {
					t.Errorf("got %q, error %v, want 101 and the answer of the hijacked connection", all, err)
				}
			})
		})
	}
}

func TestHandlerIsFinishedWhenItsBodyIsNotSent(t *testing.T) {
	ended := make(chan bool, 1)
	h := func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- true }()
		w.Header().Set("ETag", `"a"`)
		for range 10 {
			_, _ = w.Write(make([]byte, 4096))
		}
	}
	webtest.ServeBothWays(t, composed(h), func(t *testing.T, url string) {
		if resp, _ := get(t, url, "If-None-Match", `"a"`); resp.StatusCode != 304 {
			t.Errorf("got %d, want 304", resp.StatusCode)
		}
		<-ended
	})
}

func TestPanickingHandlerIsAnswered500OrCut(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			_, _ = w.Write(make([]byte, 10_000))
		}
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
		panic("no")
	}
	webtest.ServeBothWays(t, web.Chain(web.FromHTTP(http.HandlerFunc(h))), func(t *testing.T, url string) {
		if resp, _ := get(t, url+"/early"); resp.StatusCode != 500 {
			t.Errorf("before the head: %d, want 500", resp.StatusCode)
		}
		if resp, err := http.Get(url + "/abort"); err == nil {
			t.Errorf("ErrAbortHandler: %d, want a cut connection", resp.StatusCode)
		}
		resp, err := http.Get(url + "/late")
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Error("panic after the head: got a complete body, want a cut connection")
		}
	})
}

func TestServeFileSendsRangesThroughTheAdapter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.bin")
	if err := os.WriteFile(file, []byte(strings.Repeat("0123456789", 10_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	webtest.ServeBothWays(t, web.Chain(web.FromHTTP(h), mark("m")), func(t *testing.T, url string) {
		if resp, body := get(t, url); len(body) != 100_000 || resp.ContentLength != 100_000 {
			t.Errorf("got %d bytes, Content-Length %d, want 100000 for both", len(body), resp.ContentLength)
		}
		if resp, body := get(t, url, "Range", "bytes=10-19"); resp.StatusCode != 206 || body != "0123456789" {
			t.Errorf("Range: got %d %q, want 206 and bytes 10 to 19 of the file", resp.StatusCode, body)
		}
	})
}

// A component that sets a field after WithContext must not change the server's original request.
func TestWithContextDoesNotExposeTheOriginalRequest(t *testing.T) {
	var came *http.Request
	c := web.Chain(web.Pipe(func(c *web.Conn) { came = c.HTTPRequest(); c.WithContext(c.Context()) }),
		web.Pipe(func(c *web.Conn) { c.SetRequestHeader("X-A", "b") }),
		web.Source(func(c *web.Conn) web.Body {
			return web.String(c.RequestHeader("X-A") + came.Header.Get("X-A"))
		}))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		if _, body := get(t, url); body != "b" {
			t.Errorf("got %q, want the field once", body)
		}
	})
}
