package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/serve"
)

// exchanges are requests to the handler of newPlayground. The last of each ends its connection.
var exchanges = []struct{ name, text string }{
	{"a page", "GET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"pipelined requests are answered in order (RFC 9112, 9.3.2)", "GET /text HTTP/1.1\r\nHost: a\r\n\r\nGET /empty HTTP/1.1\r\nHost: a\r\n\r\nGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"HEAD has the fields of GET and no content (RFC 9110, 9.3.2)", "HEAD /text HTTP/1.1\r\nHost: a\r\n\r\nHEAD /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"HTTP/1.0 ends the connection", "GET /text HTTP/1.0\r\n\r\n"},
	{"HTTP/1.0 may keep the connection", "GET /text HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /text HTTP/1.0\r\n\r\n"},
	{"HTTP/1.0 gets no chunks (RFC 9112, 6.1)", "GET /large HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"},
	{"content of an unknown length is chunked", "GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /flushed HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"a declared length", "GET /declared HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"no content for 204 and 304", "GET /204 HTTP/1.1\r\nHost: a\r\n\r\nGET /304 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"the handler ends the connection", "GET /close HTTP/1.1\r\nHost: a\r\n\r\nGET /text HTTP/1.1\r\nHost: a\r\n\r\n"},
	{"content with a length", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"chunked content with trailers", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n3;x\r\nhel\r\n2\r\nlo\r\n0\r\nSum: 5\r\nOther: 6\r\n\r\nGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"content that the handler does not read is dropped", "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"100 (Continue) is sent when the handler reads (RFC 9110, 10.1.1)", "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"},
	{"an unknown expectation fails (RFC 9110, 10.1.1)", "GET /text HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n"},
	{"an informational response precedes the final one (RFC 9110, 15.2)", "GET /early HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"trailers of a response (RFC 9110, 6.5)", "GET /trailers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"a value cannot end its line", "GET /split HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"a type that the handler has set to nil is not detected", "GET /untyped HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"content that is read behind the response's head is an error", "POST /behind HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"full duplex lets the handler read it", "POST /duplex HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"a handler may set deadlines", "GET /deadlines HTTP/1.1\r\nHost: a\r\n\r\nGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"an empty line before a request is skipped (RFC 9112, 2.2)", "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi\r\nGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
	{"a handler that aborts ends the connection", "GET /abort HTTP/1.1\r\nHost: a\r\n\r\n"},
	{"the target is as received", "GET /target/%2f?a=%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"},
}

// newPlayground returns a handler for exchanges.
func newPlayground() http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, h http.HandlerFunc) { mux.HandleFunc(path, h) }
	handle("/text", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<p>text") })
	handle("/empty", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X", "y") })
	handle("/large", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 5000)); io.WriteString(w, "end") })
	handle("/flushed", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "one")
		w.(http.Flusher).Flush()
		io.WriteString(w, "two")
	})
	handle("/declared", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "3")
		w.WriteHeader(201)
		w.Header().Set("Late", "has no effect")
		io.WriteString(w, "abc")
	})
	handle("/204", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) })
	handle("/304", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) })
	handle("/close", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close") })
	handle("/echo", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v %v", b, err, r.Trailer)
	})
	handle("/early", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "late")
	})
	handle("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Declared")
		io.WriteString(w, "content")
		w.Header().Set("Declared", "1")
		w.Header().Set(http.TrailerPrefix+"Undeclared", "2")
	})
	handle("/split", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X", "a\r\nSet-Cookie: b") })
	handle("/untyped", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "<p>")
	})
	handle("/behind", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		_, err := io.ReadAll(r.Body)
		fmt.Fprint(w, err)
	})
	handle("/duplex", func(w http.ResponseWriter, r *http.Request) {
		err := http.NewResponseController(w).EnableFullDuplex()
		w.(http.Flusher).Flush()
		b, readErr := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v %v", b, err, readErr)
	})
	handle("/deadlines", func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		later := time.Now().Add(time.Minute)
		fmt.Fprint(w, c.SetReadDeadline(later), c.SetWriteDeadline(later))
	})
	handle("/abort", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	handle("/target/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI, " ", r.URL.Path) })
	return mux
}

// TestEnginesAnswerAlike: both engines send the same responses, however the requests are cut.
func TestEnginesAnswerAlike(t *testing.T) {
	if underTest != HTTP1 || modelUnderTest != serve.Goroutine {
		t.Skip("runs both engines: once is enough")
	}
	theirs := start(t, Config{Engine: NetHTTP}, newPlayground())
	ours := map[serve.Way]*running{}
	for _, model := range []serve.Way{serve.Goroutine, serve.Pool, serve.Loop, serve.Coroutine} {
		ours[model] = start(t, Config{Engine: HTTP1, Model: model}, newPlayground())
	}
	for _, e := range exchanges {
		t.Run(e.name, func(t *testing.T) {
			want := play(t, theirs.addr, e.text, len(e.text))
			for model, s := range ours {
				t.Run(model.String(), func(t *testing.T) {
					t.Parallel()
					for cut := len(e.text); cut > 0; cut-- {
						if got := play(t, s.addr, e.text, cut); got != want {
							t.Fatalf("cut after %d of %d bytes: got\n%s\nwant, as net/http,\n%s", cut, len(e.text), got, want)
						}
					}
				})
			}
		})
	}
}

// TestARefusedContentEndsTheConnection: the handler answers without reading content whose client
// waits for 100 (Continue). The server cannot know whether the client sends it, so the connection
// ends.
func TestARefusedContentEndsTheConnection(t *testing.T) {
	s := start(t, Config{Engine: HTTP1}, newPlayground())
	got := play(t, s.addr, "POST /text HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", 1)
	if !strings.HasPrefix(got, `"HTTP/1.1 200 OK"`) || !strings.Contains(got, "Connection: close") {
		t.Errorf("got\n%s\nwant the response alone, with Connection: close, and the end", got)
	}
}

// play sends text, cut in two, and returns everything that comes back, in a form that does not
// depend on the time nor on the order of fields.
func play(t *testing.T, addr, text string, cut int) string {
	t.Helper()
	c := dial(t, addr).(*net.TCPConn)
	io.WriteString(c, text[:cut])
	if cut < len(text) {
		time.Sleep(time.Millisecond) // so that most cuts are seen as two reads; none is required
		io.WriteString(c, text[cut:])
	}
	all, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	return normalize(string(all), strings.Contains(text, " HTTP/1.0\r\n"))
}

// normalize sorts the fields of heads, and removes Date. To an HTTP/1.0 client, net/http answers by
// "HTTP/1.0", and does not say that it ends the connection, which such a client knows. The other
// engine states its own version (RFC 9110, section 2.5), and says it.
func normalize(stream string, toOld bool) string {
	var out []string
	stream = strings.ReplaceAll(stream, "HTTP/1.0 ", "HTTP/1.1 ")
	lines := strings.Split(stream, "\r\n")
	for i := 0; i < len(lines); i++ {
		out = append(out, strconv.Quote(lines[i]))
		if !strings.Contains(lines[i], "HTTP/1.1 ") && lines[i] != "0" { // a head, or trailers
			continue
		}
		var fields []string
		for i++; i < len(lines) && lines[i] != ""; i++ {
			if !strings.HasPrefix(lines[i], "Date: ") && !(toOld && lines[i] == "Connection: close") {
				fields = append(fields, lines[i])
			}
		}
		slices.Sort(fields)
		out = append(out, fields...)
	}
	return strings.Join(out, "\n")
}
