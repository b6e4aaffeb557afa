package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/web/internal/webtest"
)

// When an upstream stops sending a body, its connection is closed, and the client sees an
// incomplete response.
func TestIdleBodyIsAborted(t *testing.T) {
	for name, begins := range map[string]string{
		"of a stated length": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
		"in chunks":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"up to the end":      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf",
		"not begun":          "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan bool, 1)
			up := raw(t, func(c net.Conn) {
				if _, ok := request(c); !ok {
					return
				}
				_, _ = io.WriteString(c, begins)
				_, err := c.Read(make([]byte, 1)) // until it is closed
				closed <- err != nil && !errors.Is(err, net.ErrClosed)
			})
			to := make(chan webtest.ExchangeEnd, 1)
			bothWays(t, Config{Upstreams: []string{up}, IdleTimeout: "20ms"}, noting(to), func(t *testing.T, url string, p *Proxy) {
				resp, err := webtest.Client(t).Get(url)
				if err == nil { // or not even the head came: it waits for the first piece
					body, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if err == nil || !strings.HasPrefix("half", string(body)) {
						t.Errorf("got %q, %v, want what there was, and that it broke off", body, err)
					}
				}
				if end := <-to; end.Err == nil || !strings.Contains(end.Err.Error(), "the upstream sent no data for 20ms") {
					t.Errorf("got %+v, want an idle timeout", end)
				}
				if !<-closed {
					t.Error("got no close of the upstream's connection, want one")
				}
				webtest.Until(t, "nothing is under way", func() bool { return p.Upstreams()[0].Active == 0 })
				if u := p.Upstreams()[0]; u.Failures != 1 {
					t.Errorf("got %+v, want it blamed", u)
				}
			})
		})
	}
}

// bodyOf returns the proxy's wrapper of a response body with this media type.
func bodyOf(x *exchange, kind string, r io.ReadCloser) io.ReadCloser {
	request, _ := http.NewRequestWithContext(context.Background(), "GET", "/", nil)
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: r, Request: request}
	_ = x.watchBody(resp)
	return resp.Body
}

// The limit applies to idle time, not to the duration of a body or to the client's speed. Event
// streams may be idle.
func TestSlowBodyIsNotIdle(t *testing.T) {
	for _, c := range []struct {
		kind, limit string
		pause, late time.Duration // of the upstream, and of the client
		whole       bool
	}{
		{"text/plain", "", 59 * time.Second, 0, true},
		{"text/plain", "", 61 * time.Second, 0, false},
		{"text/plain", "", 0, time.Hour, true},
		{"text/plain", "2h", time.Hour, 0, true},
		{"text/plain", "0s", 1000 * time.Hour, 0, true},
		{"text/event-stream", "", 1000 * time.Hour, 0, true},
		{"text/event-stream; charset=utf-8", "1s", time.Hour, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := parseConfig(Config{IdleTimeout: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			r, w := io.Pipe()
			var writer sync.WaitGroup
			writer.Go(func() {
				defer w.Close()
				for range 5 {
					time.Sleep(c.pause)
					if _, err := io.WriteString(w, "line\n"); err != nil {
						return
					}
				}
			})
			defer writer.Wait()
			x := &exchange{p: &Proxy{upstreams: &upstreams{settings: s}}, upstream: &upstream{}}
			body := bodyOf(x, c.kind, r)
			defer body.Close()
			lines := bufio.NewReaderSize(body, 16)
			for n := 0; ; n++ {
				_, err := lines.ReadString('\n')
				if err != nil {
					if whole := n == 5 && err == io.EOF; whole != c.whole || (x.upstreamErr == nil) != c.whole {
						t.Errorf("%+v: got %d lines and %v, failure %v, want all lines and no failure unless idle", c, n, err, x.upstreamErr)
					}
					return
				}
				time.Sleep(c.late)
			}
		})
	}
}
