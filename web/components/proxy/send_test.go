package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/web/internal/webtest"
)

// zeros is a request body that is larger than what sockets buffer.
func zeros(stated bool) (body io.Reader, length int64) {
	if length = -1; stated {
		length = 1 << 30
	}
	return io.LimitReader(endless{}, 1<<30), length
}

type endless struct{}

// Read implements [io.Reader].
func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// stalls checks that a large request is answered by 504, and that the failure counts for the
// upstream.
func stalls(t *testing.T, url string, stated bool, p *Proxy, ended <-chan webtest.ExchangeEnd) {
	t.Helper()
	body, length := zeros(stated)
	r, _ := http.NewRequestWithContext(t.Context(), "PUT", url, body)
	r.ContentLength = length
	// otherwise the server closed while the client was sending
	if resp, err := webtest.Client(t).Do(r); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("got %d, want 504", resp.StatusCode)
		}
	}
	if end := <-ended; end.Status != 504 || end.Err == nil || !strings.Contains(end.Err.Error(), "accepted no data of the request's body for 20ms") {
		t.Errorf("the exchange ended with %+v, want 504 and its reason", end)
	}
	if u := p.Upstreams()[0]; u.Active != 0 || u.Failures != 1 {
		t.Errorf("the upstream's reading is %+v, want it blamed and nothing under way", u)
	}
}

// The proxy closes the connection of an upstream that reads the header and never the body.
func TestUpstreamThatNeverReadsTheBodyTimesOut(t *testing.T) {
	for name, stated := range map[string]bool{"of a stated length": true, "in chunks": false} {
		t.Run(name, func(t *testing.T) {
			answered, closed := make(chan bool, 1), make(chan bool, 1) // one value each
			up := raw(t, func(c net.Conn) {
				if _, ok := request(c); ok {
					<-answered
					_, err := io.Copy(io.Discard, c)
					closed <- !errors.Is(err, net.ErrClosed)
				}
			})
			to := make(chan webtest.ExchangeEnd, 1)
			bothWays(t, Config{Upstreams: []string{up}, IdleTimeout: "20ms"}, noting(to), func(t *testing.T, url string, p *Proxy) {
				stalls(t, url, stated, p, to)
				answered <- true
				if !<-closed {
					t.Error("got no close of the upstream's connection, want one")
				}
			})
		})
	}
}

// With HTTP/2 the stream ends, and the connection stays in use.
func TestUpstreamThatNeverReadsTheBodyOverHTTP2TimesOut(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PUT" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, r.Proto+" "+r.RemoteAddr)
	}))
	s.EnableHTTP2, s.Config.ErrorLog = true, discardLog
	s.StartTLS()
	defer s.Close()
	cfg := Config{Upstreams: []string{s.URL}, IdleTimeout: "20ms", TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}
	to := make(chan webtest.ExchangeEnd, 2)
	bothWays(t, cfg, noting(to), func(t *testing.T, url string, p *Proxy) {
		_, before := do(t, "GET", url, "")
		<-to
		stalls(t, url, true, p, to)
		if _, after := do(t, "GET", url, ""); after != before || !strings.HasPrefix(after, "HTTP/2.0 ") {
			t.Errorf("the next request came by %q, want the same connection as before, %q", after, before)
		}
		<-to
	})
}

// sends sends five pieces through a proxy to an upstream that pauses before it reads each. It
// returns the response.
func sends(t *testing.T, limit, expect string, client, upstream time.Duration, early bool) error {
	p, err := prepare(Config{Upstreams: []string{"http://up"}, IdleTimeout: limit, HeadTimeout: "0s", Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	u := p.pool.upstreams[0]
	u.transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return near, nil }
	defer u.transport.CloseIdleConnections()
	body, more := io.Pipe()
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() {
		defer more.Close()
		for range 5 {
			time.Sleep(client)
			if _, err := more.Write(make([]byte, 20_000)); err != nil {
				return
			}
		}
	})
	both.Go(func() {
		defer far.Close()
		in := bufio.NewReader(far)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if early {
			_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
		}
		for err == nil {
			time.Sleep(upstream)
			_, err = io.ReadFull(r.Body, make([]byte, 20_000))
		}
		if !early {
			_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
		}
		_, _ = io.WriteString(far, "done")
	})
	r, _ := http.NewRequest("POST", "http://up/", body)
	r.ContentLength = 100_000
	if expect != "" {
		r.Header.Set("Expect", expect)
	}
	x := &exchange{p: p}
	defer x.end()
	resp, err := x.RoundTrip(r)
	defer body.Close()
	if err != nil {
		far.Close()
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

// The limit applies while an upstream accepts no data, not to the duration of a body or to the
// client's speed.
func TestUpstreamThatReadsSlowlyDoesNotTimeOut(t *testing.T) {
	for _, c := range []struct {
		limit, expect    string
		client, upstream time.Duration // how long each pauses before a piece
		early            bool          // the upstream answers before it reads
		whole            bool
	}{
		{"", "", 0, 59 * time.Second, false, true},
		{"", "", 0, 61 * time.Second, false, false},
		{"", "", time.Hour, 0, false, true},
		{"2h", "", 0, time.Hour, false, true},
		{"0s", "", 0, 1000 * time.Hour, false, true},
		// the upstream says nothing to that for a second
		{"500ms", "100-continue", 0, 0, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			err := sends(t, c.limit, c.expect, c.client, c.upstream, c.early)
			if (err == nil) != c.whole {
				t.Errorf("%+v: got %v, want an error only after idle time", c, err)
			}
			if late, ok := errors.AsType[net.Error](err); !c.whole && (!ok || !late.Timeout()) {
				t.Errorf("%+v: got %v, want a timeout", c, err)
			}
		})
	}
}

// After the response's header, only the limit of its body applies: an upstream may respond before
// it reads.
func TestUpstreamThatRespondsEarlyMayReadLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := sends(t, "", "", 0, 10*time.Minute, true); err != nil {
			t.Errorf("got %v, want the whole response", err)
		}
	})
}

// Config.Dial makes all connections, those of health checks too, and has DialTimeout for each.
func TestDialMakesTheConnections(t *testing.T) {
	up := named(t, "app")
	var dialed atomic.Int32
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed.Add(1)
		if address == "slow:80" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if network != "tcp" || address != "app:80" {
			t.Errorf("got a call for %s %s, want tcp app:80", network, address)
		}
		return new(net.Dialer).DialContext(ctx, network, up.Listener.Addr().String())
	}
	bothWays(t, Config{Upstreams: []string{"http://app"}, Dial: dial}, nil, func(t *testing.T, url string, p *Proxy) {
		for _, body := range []string{"", strings.Repeat("x", maxBuffered+1)} {
			dialed.Store(0)
			if _, text := do(t, "PUT", url, body); text != "app" || dialed.Load() != 1 {
				t.Errorf("%d bytes: got %q by %d calls of Dial, want app by one", len(body), text, dialed.Load())
			}
		}
		if err := p.check(t.Context(), p.pool.upstreams[0]); err != nil {
			t.Errorf("health check: got %v, want none", err)
		}
	})
	bothWays(t, Config{Upstreams: []string{"http://slow"}, Dial: dial, DialTimeout: "1ms"}, nil, func(t *testing.T, url string, _ *Proxy) {
		if resp, _ := do(t, "GET", url, ""); resp.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("a Dial that takes too long: got %s, want 504", resp.Status)
		}
	})
}
