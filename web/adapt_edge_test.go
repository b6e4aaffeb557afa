package web_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/web"
	"weir/web/internal/webtest"
)

// says sends a request as written and returns everything that comes back.
func says(t *testing.T, url, request string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("reading the response to %q: got %v, want the end of the connection", request, err)
	}
	return string(all)
}

// A handler whose body is not sent is notified by its context and by failing writes. That holds for
// HEAD and for an answer that another component has replaced.
func TestUnboundedHandlerEndsWhenItsBodyIsNotSent(t *testing.T) {
	wrote := make(chan error, 1)
	events := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		_, err := io.WriteString(w, "data: late\n\n")
		wrote <- err
	}
	refuse := web.Pipe(func(c *web.Conn) {
		if c.Path() == "/refused" {
			c.Reply(403)
		}
	})
	webtest.ServeBothWays(t, web.Chain(web.FromHTTP(http.HandlerFunc(events)), refuse), func(t *testing.T, url string) {
		for request, want := range map[string]string{"HEAD /": "HTTP/1.1 200 OK\r\n", "GET /refused": "HTTP/1.1 403 Forbidden\r\n"} {
			if got := says(t, url, request+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, want) {
				t.Errorf("%s: got %q, want %q", request, got, want)
			}
			if err := <-wrote; !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("%s: the handler's write returned %v, want ErrBodyNotAllowed", request, err)
			}
		}
	})
}

func TestAbortOfAHandlerWhoseBodyIsNotSentIsIgnored(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10000")
		if _, err := w.Write(make([]byte, 10_000)); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	webtest.ServeBothWays(t, web.FromHTTP(http.HandlerFunc(h)), func(t *testing.T, url string) {
		if resp, err := http.Head(url); err != nil || resp.ContentLength != 10_000 {
			t.Errorf("got response %v, error %v, want the Content-Length of GET or none", resp, err)
		}
	})
}

// RFC 9110 section 8.6: a server must not send Content-Length in response to HEAD unless it is what
// GET would get.
func TestHEADOfAnEmptyResponseHasTheLengthOfGETOrNone(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, "hello")
		}
	}
	webtest.ServeBothWays(t, web.FromHTTP(http.HandlerFunc(h)), func(t *testing.T, url string) {
		if resp, err := http.Head(url); err != nil || resp.Header["Content-Length"] != nil {
			t.Errorf("got response %v, error %v, want the Content-Length of GET or none", resp, err)
		}
	})
}

// RFC 9110 section 15.2: a server must not send an informational response to a client of HTTP/1.0.
func TestAnOldClientGetsNoInformationalResponse(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusEarlyHints) }
	c := web.Chain(web.Pipe(func(c *web.Conn) { c.SendInformational(http.StatusEarlyHints) }), web.FromHTTP(http.HandlerFunc(h)))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		if got := says(t, url, "GET / HTTP/1.0\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.0 200 OK\r\n") {
			t.Errorf("to a client of HTTP/1.0: got %q, want 200 and no informational response (RFC 9110, 15.2)", got)
		}
		if got := says(t, url, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); strings.Count(got, "HTTP/1.1 103 ") != 2 {
			t.Errorf("to a client of HTTP/1.1: got %q, want two responses 103", got)
		}
	})
}

// Where the connection cannot be hijacked, as with HTTP/2, a handler can answer otherwise. The
// exchange of a component is answered by 501.
func TestHijackWithoutSupportIsAnswered501(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); err != nil {
			http.Error(w, "not here", http.StatusUpgradeRequired)
		}
	}
	for want, c := range map[int]web.Component{
		http.StatusUpgradeRequired: web.FromHTTP(http.HandlerFunc(h)),
		http.StatusNotImplemented:  web.Pipe(func(c *web.Conn) { c.Hijack(func(net.Conn, *bufio.ReadWriter) {}) }),
	} {
		handler, err := web.New(c, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder() // has no connection to hijack
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != want || w.Body.Len() == 0 {
			t.Errorf("got %d %q, want %d", w.Code, w.Body, want)
		}
		if err := handler.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	}
}

// A body of bytes may have trailers. It has no Content-Length then (RFC 9112, section 6.3).
func TestTrailersOfABytesBodyAreSent(t *testing.T) {
	declared := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "4")
	}
	late := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "body")
		w.Header().Set(http.TrailerPrefix+"X-Sum", "4")
	}
	for name, c := range map[string]web.Component{
		"of a source":    web.Source(func(c *web.Conn) web.Body { c.SetTrailer("X-Sum", "4"); return web.String("body") }),
		"declared":       web.FromHTTP(http.HandlerFunc(declared)),
		"not declared":   web.FromHTTP(http.HandlerFunc(late)),
		"behind filters": web.Chain(web.FromHTTP(http.HandlerFunc(late)), filter(shout)),
	} {
		t.Run(name, func(t *testing.T) {
			webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
				if resp, body := get(t, url); !strings.EqualFold(body, "body") || resp.Trailer.Get("X-Sum") != "4" || resp.Header.Get("X-Sum") != "" {
					t.Errorf("got %q, trailers %v, head %v, want the body, and X-Sum as a trailer only", body, resp.Trailer, resp.Header)
				}
			})
		})
	}
}

// The type is detected from the first bytes that a handler writes, before filters change them.
func TestContentTypeIsDetectedBeforeFilters(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html>"+strings.Repeat("a", 5000))
	}
	var seen string
	c := web.Chain(web.FromHTTP(http.HandlerFunc(h)), web.Pipe(func(c *web.Conn) { seen = c.Header("Content-Type") }), filter(shout))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		seen = ""
		if resp, _ := get(t, url); seen != "text/html; charset=utf-8" || resp.Header.Get("Content-Type") != seen {
			t.Errorf("Content-Type: got %q in a pipe and %q at the client, want text/html; charset=utf-8 for both", seen, resp.Header.Get("Content-Type"))
		}
	})
}
