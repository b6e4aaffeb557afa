package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/serve"
	"weir/web"
	"weir/web/components/proxy"
)

// brokenUpstream is what an upstream sends to a GET request before it closes the connection, and
// what the client gets: the status and the content, "cut" behind the part of the content that it
// got, or "end" if the connection ends without an answer.
type brokenUpstream struct{ name, sends, want string }

var brokenUpstreams = []brokenUpstream{
	{"a whole response", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok"},
	{"it closes without an answer", "", "502"},
	{"it closes in the status line", "HTTP/1.1 20", "502"},
	{"it closes in the fields", "HTTP/1.1 200 OK\r\nContent-Le", "502"},
	{"it closes in the content", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "200 half cut or end"},
	{"it closes in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf", "200 half cut or end"},
	{"it closes before the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "200 half cut or end"},
	{"a chunk has an invalid length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\nhalf\r\n0\r\n\r\n", "200 half cut or end"},
	{"a chunk is longer than its length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalfs\r\n0\r\n\r\n", "200 half cut or end"},
	{"content beyond its length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more", "200 ok"},
	{"two responses to one request", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother", "200 ok"},
	{"content of a 204", "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother", "204"},
	{"content of a 304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nother", "304"},
	{"informational responses first", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 3) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok"},
	{"informational responses without an end", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 10_000), "502"},
	{"101 that was not requested", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\nother", "502"},
	{"a head of 2 MB", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\nContent-Length: 2\r\n\r\nok", "502"},
	{"HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\n\r\nok", "200 ok"},
	{"HTTP/1.1 without a length", "HTTP/1.1 200 OK\r\n\r\nok", "200 ok"},
	{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\noks", "502"},
	{"a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "200 ok or 502"},
	{"an invalid length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", "502"},
	{"a field that is none", "HTTP/1.1 200 OK\r\nno field\r\nContent-Length: 2\r\n\r\nok", "502"},
	{"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "502"},
	{"trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n2\r\nok\r\n0\r\nSum: 1\r\n\r\n", "200 ok"},
	{"Connection: close", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", "200 ok"},
}

// resettingUpstreams reset the connection instead of closing it.
var resettingUpstreams = []brokenUpstream{
	{"it resets the connection at once", "", "502"},
	{"it resets the connection in the fields", "HTTP/1.1 200 OK\r\nContent-Le", "502"},
	// the reset may overtake what was sent before it
	{"it resets the connection in the content", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "200 half cut or end or 502"},
	{"it resets the connection in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf", "200 half cut or end or 502"},
}

// silentUpstreams send no more, and keep the connection open until the proxy's limits.
var silentUpstreams = []brokenUpstream{
	{"no answer", "", "504"},
	{"silence in the fields", "HTTP/1.1 200 OK\r\nContent-Le", "504"},
	{"silence behind an informational response", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "504"},
	// a head that takes too long on a busy machine gives 504
	{"silence in the content", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "200 half cut or end or 504"},
	{"silence in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf", "200 half cut or end or 504"},
	{"silence in content without a length", "HTTP/1.1 200 OK\r\n\r\nhalf", "200 half cut or end or 504"},
}

// upstreamConn serves a connection of an upstream: it answers the requests for /N with what row N
// sends, and then leaves the connection to end. All others get "next".
func upstreamConn(c net.Conn, rows []brokenUpstream, end func(net.Conn)) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		var row int
		if n, _ := fmt.Sscanf(req.URL.Path, "/%d", &row); n == 1 {
			io.WriteString(c, rows[row].sends)
			end(c)
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
	}
}

// TestBrokenUpstreamsHarmNoOtherExchange: the client gets one complete response, one error of the
// proxy, or a response that is visibly cut off. Its next request has its own response.
func TestBrokenUpstreamsHarmNoOtherExchange(t *testing.T) {
	checkUpstreams(t, brokenUpstreams, func(net.Conn) {}, proxy.Config{})
}

func TestUpstreamsThatResetHarmNoOtherExchange(t *testing.T) {
	checkUpstreams(t, resettingUpstreams, func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }, proxy.Config{})
}

func TestSilentUpstreamsHarmNoOtherExchange(t *testing.T) {
	wait := func(c net.Conn) { io.Copy(io.Discard, c) }
	checkUpstreams(t, silentUpstreams, wait, proxy.Config{HeadTimeout: "100ms", IdleTimeout: "100ms"})
}

// proxiedRequests are requests for a row. The proxy handles them by different code.
var proxiedRequests = map[string]string{
	"without content":     "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n",
	"with content in one": "POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nfour",
	"with chunks":         "POST /%d HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
}

// checkUpstreams requests each row from an upstream that leaves its connection to end.
func checkUpstreams(t *testing.T, rows []brokenUpstream, end func(net.Conn), settings proxy.Config) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { upstream.Close() })
	go func() { // until the listener is closed
		for c, err := upstream.Accept(); err == nil; c, err = upstream.Accept() {
			go upstreamConn(c, rows, end) // until the proxy closes the connection
		}
	}()
	settings.Upstreams, settings.MaxFails = []string{"http://" + upstream.Addr().String()}, -1
	for _, config := range proxyConfigs() {
		t.Run(config.Model.String(), func(t *testing.T) {
			c, err := proxy.New(settings)
			if err != nil {
				t.Fatal(err)
			}
			h, err := web.New(web.Chain(c), web.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, config, h)
			for row, u := range rows {
				for kind, request := range proxiedRequests {
					got := askTwice(t, s.addr, fmt.Sprintf(request, row), u.name)
					if !slices.Contains(strings.Split(u.want, " or "), got) {
						t.Errorf("%s, %s: got %q, want %q", u.name, kind, got, u.want)
					}
				}
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			c.(*proxy.Proxy).Close()
			h.Close()
		})
	}
}

// proxyConfigs are the configurations under test. The goroutine's turn has all models of HTTP1.
func proxyConfigs() []Config {
	switch {
	case underTest != HTTP1:
		return []Config{{}}
	case modelUnderTest != serve.Goroutine:
		return nil
	}
	return []Config{{}, {Engine: HTTP1, Model: serve.Pool}, {Engine: HTTP1, Model: serve.Loop}, {Engine: HTTP1, Model: serve.Coroutine}}
}

// askTwice sends a request, and then requests another page by the same connection if it is still
// open, and by a new one. It returns the result of the first request.
func askTwice(t *testing.T, addr, request, name string) string {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	c.SetDeadline(time.Now().Add(waitTimeout))
	r := bufio.NewReader(c)
	io.WriteString(c, request)
	got, open := result(r)
	if open {
		io.WriteString(c, "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
		if next, _ := result(r); !isOwn(next) && next != "end" {
			t.Errorf("%s: the next response on the connection is %q, want its own or the end of the connection", name, next)
		}
	}
	fresh := dial(t, addr)
	defer fresh.Close()
	fresh.SetDeadline(time.Now().Add(waitTimeout))
	io.WriteString(fresh, "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if next, _ := result(bufio.NewReader(fresh)); !isOwn(next) {
		t.Errorf("%s: another client then got %q, want its own response", name, next)
	}
	return got
}

// isOwn reports whether a result is the response to /next, or, on a busy machine, says that the
// proxy's limits were too short for it.
func isOwn(result string) bool { return result == "200 next" || result == "504" }

// result reads a final response: its status and content, unless it is the proxy's own page for an
// error. open says that the connection may carry another.
func result(r *bufio.Reader) (got string, open bool) {
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return "end", false
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		got = fmt.Sprint(resp.StatusCode)
		if resp.StatusCode < 500 && len(body) > 0 {
			got += " " + string(body)
		}
		if err != nil {
			return got + " cut", false
		}
		return got, !resp.Close
	}
}
