package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/web"
	"weir/web/internal/webtest"
)

// noting returns a composition that sends the end of each exchange to a channel.
func noting(to chan<- webtest.ExchangeEnd) func(web.Component) web.Component {
	return func(p web.Component) web.Component { return web.Chain(webtest.RecordEnds(to), p) }
}

// breaking is an upstream that reads a request, sends some bytes, and closes the connection.
func breaking(t *testing.T, count *atomic.Int64, sends string) string {
	return raw(t, func(c net.Conn) {
		if _, ok := request(c); ok {
			count.Add(1)
			_, _ = io.WriteString(c, sends)
		}
	})
}

func TestRequestIsRetriedOnlyWhereItIsSafe(t *testing.T) {
	var asked, failed atomic.Int64
	works := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+string(body))
	})
	silent := breaking(t, &failed, "")
	for _, c := range []struct {
		name, first, method, body string
		status                    int
		want                      string
	}{
		{"no connection to the upstream, POST: retried", dead(t), "POST", strings.Repeat("a", 100_000), 200, "POST" + strings.Repeat("a", 100_000)},
		{"closed without a response, GET: retried", silent, "GET", "", 200, "GET"},
		{"closed without a response, PUT with a small body: retried", silent, "PUT", "text", 200, "PUTtext"},
		{"closed without a response, PUT with a body too large to buffer: not retried", silent, "PUT", strings.Repeat("a", maxBuffered+1), 502, "502 Bad Gateway\n"},
		{"closed without a response, POST: not retried", silent, "POST", "text", 502, "502 Bad Gateway\n"},
		{"closed after a byte of the response, GET: not retried", breaking(t, &failed, "H"), "GET", "", 502, "502 Bad Gateway\n"},
		{"closed after an informational response, GET: not retried", breaking(t, &failed, "HTTP/1.1 103 Early Hints\r\n\r\n"), "GET", "", 502, "502 Bad Gateway\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := make(chan webtest.ExchangeEnd, 1)
			bothWays(t, Config{Upstreams: []string{c.first, works.URL}, MaxFails: -1}, noting(to), func(t *testing.T, url string, p *Proxy) {
				asked.Store(0)
				resp, body := do(t, c.method, url, c.body)
				end := <-to
				if resp.StatusCode != c.status || body != c.want || resp.Header.Get("X-Before") != "kept" {
					t.Errorf("got %d %.50q %v, want %d %.50q with X-Before: kept", resp.StatusCode, body, resp.Header, c.status, c.want)
				}
				if ok := c.status == 200; ok && (end.Upstream != works.URL || end.Err != nil) || !ok && (end.Upstream != "" || end.Err == nil || asked.Load() != 0) {
					t.Errorf("got %+v and %d requests at the other upstream, want a retry only where it is safe", end, asked.Load())
				}
				if u := p.Upstreams()[0]; u.Failures != 1 || u.Requests != 1 || u.Active != 0 || u.LastError == "" {
					t.Errorf("got %+v, want one failed request", u)
				}
			})
		})
	}
}

func TestRetriesAreLimited(t *testing.T) {
	to := make(chan webtest.ExchangeEnd, 1)
	cfg := Config{Upstreams: []string{dead(t), dead(t), dead(t), named(t, "last").URL}, Retries: 2}
	bothWays(t, cfg, noting(to), func(t *testing.T, url string, _ *Proxy) {
		if resp, _ := do(t, "GET", url, ""); resp.StatusCode != 502 {
			t.Errorf("got %d, want 502 after three", resp.StatusCode)
		}
		if end := <-to; end.Status != 502 || !strings.Contains(end.Err.Error(), "proxy: http://127.0.0.1:") {
			t.Errorf("got %+v, want 502 with the upstream's address", end)
		}
	})
}

func TestUpstreamFailures(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	for _, c := range []struct {
		name   string
		does   func(net.Conn)
		status int
	}{
		{"it is too slow", func(c net.Conn) { request(c); <-hold }, 504},
		{"it speaks no HTTP", func(c net.Conn) { request(c); io.WriteString(c, "220 mail ready\r\n") }, 502},
		{"its head has no end", func(c net.Conn) {
			request(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "X: "+strings.Repeat("a", 10_000)+"\r\n"); err != nil {
					return
				}
			}
		}, 502},
		{"it switches protocols unasked", func(c net.Conn) {
			request(c)
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: irc\r\n\r\n")
		}, 502},
		{"it sends two different lengths", func(c net.Conn) {
			request(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
		}, 502},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := make(chan webtest.ExchangeEnd, 1)
			cfg := Config{Upstreams: []string{raw(t, c.does)}}
			if c.status == 504 {
				cfg.HeadTimeout = "50ms"
			}
			bothWays(t, cfg, noting(to), func(t *testing.T, url string, p *Proxy) {
				resp, _ := do(t, "GET", url, "")
				if end := <-to; resp.StatusCode != c.status || end.Status != c.status || end.Err == nil {
					t.Errorf("got %d, %+v, want %d", resp.StatusCode, end, c.status)
				}
				if u := p.Upstreams()[0]; u.Failures != 1 || u.Active != 0 {
					t.Errorf("got %+v, want one failure", u)
				}
			})
		})
	}
}

func TestIncompleteBodyClosesTheConnection(t *testing.T) {
	for _, head := range []string{"Content-Length: 10\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		up := raw(t, func(c net.Conn) { request(c); io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head) })
		to := make(chan webtest.ExchangeEnd, 1)
		bothWays(t, Config{Upstreams: []string{up}}, noting(to), func(t *testing.T, url string, p *Proxy) {
			resp, err := webtest.Client(t).Get(url)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if end := <-to; err == nil || end.Err == nil || end.Status != 200 || end.Upstream != up {
				t.Errorf("%q: %v, %+v: want a body that looks broken", head, err, end)
			}
			webtest.Until(t, "the failure is counted", func() bool { return p.Upstreams()[0].Failures == 1 })
		})
	}
}

func TestDisconnectedClientIsNotAnUpstreamFailure(t *testing.T) {
	in, out := make(chan struct{}, 1), make(chan struct{}, 1)
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		in <- struct{}{}
		<-r.Context().Done()
		out <- struct{}{}
	})
	to := make(chan webtest.ExchangeEnd, 1)
	bothWays(t, Config{Upstreams: []string{up.URL, up.URL}}, noting(to), func(t *testing.T, url string, p *Proxy) {
		ctx, goAway := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
		go func() { <-in; goAway() }()
		if _, err := webtest.Client(t).Do(r); err == nil {
			t.Error("got a response, want none")
		}
		<-out
		if end := <-to; end.Status != web.StatusClientClosedRequest || end.Err == nil {
			t.Errorf("got %+v, want %d", end, web.StatusClientClosedRequest)
		}
		for _, u := range p.Upstreams() {
			if u.Failures != 0 || u.Active != 0 {
				t.Errorf("got %+v, want no failure", u)
			}
		}
	})
}

func TestInvalidRequestBodyIsNotAnUpstreamFailure(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	limited := func(p web.Component) web.Component {
		return web.Chain(web.Pipe(func(c *web.Conn) { c.LimitRequestBody(100_000) }), p)
	}
	bothWays(t, Config{Upstreams: []string{up.URL}}, limited, func(t *testing.T, url string, p *Proxy) {
		if resp, _ := do(t, "POST", url, strings.Repeat("a", 200_000)); resp.StatusCode != 413 {
			t.Errorf("too large: %d, want 413", resp.StatusCode)
		}
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(webtest.WaitTimeout))
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		if answer, _ := io.ReadAll(c); !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			t.Errorf("malformed: %.80q, want 400", answer)
		}
		if u := p.Upstreams()[0]; u.Failures != 0 || u.Active != 0 {
			t.Errorf("got %+v, want no failure", u)
		}
	})
}

func TestConnectIsRejected(t *testing.T) {
	bothWays(t, Config{Upstreams: []string{dead(t)}}, nil, func(t *testing.T, url string, p *Proxy) {
		if resp, _ := do(t, "CONNECT", url, ""); resp.StatusCode != 501 || p.Upstreams()[0].Requests != 0 {
			t.Errorf("got %d %+v, want 501 and no request at the upstream", resp.StatusCode, p.Upstreams())
		}
	})
}

func TestFieldsOfTheResponse(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Both", "upstream")
		h.Set("Vary", "Cookie")
		h.Add("Set-Cookie", "b=2")
		h.Set("Connection", "X-Hop")
		h.Set("X-Hop", "gone")
		h.Set("Keep-Alive", "gone")
		w.WriteHeader(404)
		_, _ = io.WriteString(w, "none")
	})
	before := web.Pipe(func(c *web.Conn) {
		c.SetHeader("X-Both", "ours")
		c.SetHeader("X-Ours", "ours")
		c.Vary("Accept")
		c.AddHeader("Set-Cookie", "a=1")
	})
	bothWays(t, Config{Upstreams: []string{up.URL}}, func(p web.Component) web.Component { return web.Chain(before, p) }, func(t *testing.T, url string, _ *Proxy) {
		resp, body := do(t, "GET", url, "")
		h := resp.Header
		if resp.StatusCode != 404 || body != "none" || resp.ContentLength != 4 || strings.Join(h["X-Both"], ",") != "upstream" || h.Get("X-Ours") != "ours" ||
			strings.Join(h["Vary"], ",") != "Accept,Cookie" || strings.Join(h["Set-Cookie"], ",") != "a=1,b=2" || h["X-Hop"] != nil || h["Keep-Alive"] != nil {
			t.Errorf("got %d %q %v, want the upstream's fields without hop-by-hop ones", resp.StatusCode, body, h)
		}
	})
}
