package proxy

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/web"
	"weir/web/internal/conn"
	"weir/web/internal/webtest"
)

// zip is a filter that compresses and flushes.
var zip = web.Filter(func(c *web.Conn) web.Transform {
	c.SetHeader("Content-Encoding", "gzip")
	return func(next io.Writer) io.WriteCloser { return gzip.NewWriter(next) }
})

// Each event arrives before the upstream sends the next, also through a filter that compresses.
func TestEventsArePassedOnAtOnce(t *testing.T) {
	next := make(chan string)
	for kind, filters := range map[string][]web.Component{"plain": nil, "compressed": {zip}} {
		for _, head := range []string{"text/event-stream", "application/octet-stream"} {
			up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", head)
				w.WriteHeader(200)
				_ = http.NewResponseController(w).Flush()
				for e := range next {
					if e == "end" {
						return
					}
					fmt.Fprintf(w, "data: %s\n\n", e)
					_ = http.NewResponseController(w).Flush()
				}
			})
			around := func(p web.Component) web.Component { return web.Chain(append([]web.Component{p}, filters...)...) }
			bothWays(t, Config{Upstreams: []string{up.URL}}, around, func(t *testing.T, url string, _ *Proxy) {
				resp, err := webtest.Client(t).Get(url) // the head comes before the first event
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body := io.Reader(resp.Body)
				for i := range 5 {
					next <- fmt.Sprint(i)
					if i == 0 && kind == "compressed" {
						if body, err = gzip.NewReader(body); err != nil {
							t.Fatal(err)
						}
					}
					want := fmt.Sprintf("data: %d\n\n", i)
					got := make([]byte, len(want))
					if _, err := io.ReadFull(body, got); err != nil || string(got) != want {
						t.Fatalf("%s: got %q, %v, want the next event", kind, got, err)
					}
				}
				next <- "end"
				if rest, err := io.ReadAll(body); err != nil || len(rest) != 0 {
					t.Errorf("got %q, %v, want the end", rest, err)
				}
			})
		}
	}
}

// An event stream does not end by itself: it ends when the server begins to stop.
func TestEventsEndWhenTheServerStops(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: a\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	p := newProxy(t, Config{Upstreams: []string{up.URL}})
	h, err := web.New(p, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	stops := make(chan struct{})
	s := httptest.NewUnstartedServer(h)
	s.Config.BaseContext = func(net.Listener) context.Context { return conn.WithStopping(context.Background(), stops) }
	s.Start()
	defer s.Close()
	resp, err := webtest.Client(t).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	const event = "data: a\n\n"
	first := make([]byte, len(event))
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != event {
		t.Fatalf("got %q, %v, want the first event", first, err)
	}
	close(stops)
	if rest, err := io.ReadAll(resp.Body); len(rest) != 0 || err != nil {
		t.Errorf("got %q, %v, want a clean end", rest, err)
	}
	if u := p.Upstreams()[0]; u.Failures != 0 {
		t.Errorf("got %+v, want no failure", u)
	}
}

func TestWebSocketsArePassedOn(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, data, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, append([]byte("heard "), data...)) != nil {
				return
			}
		}
	})
	to := make(chan webtest.ExchangeEnd, 1)
	around := func(p web.Component) web.Component { return web.Chain(noting(to)(p), zip) }
	bothWays(t, Config{Upstreams: []string{up.URL}}, around, func(t *testing.T, url string, p *Proxy) {
		ctx, cancel := context.WithTimeout(t.Context(), webtest.WaitTimeout)
		defer cancel()
		c, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: webtest.Client(t)})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("X-Before") != "kept" {
			t.Errorf("got %v, want X-Before: kept", resp.Header)
		}
		for range 3 {
			if err := c.Write(ctx, websocket.MessageText, []byte("you")); err != nil {
				t.Fatal(err)
			}
			if _, data, err := c.Read(ctx); err != nil || string(data) != "heard you" {
				t.Fatalf("got %q, %v, want \"heard you\"", data, err)
			}
		}
		if u := p.Upstreams()[0]; u.Active != 1 {
			t.Errorf("got %+v, want it under way", u)
		}
		if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Errorf("the closing handshake: got %v, want nil", err)
		}
		if end := <-to; end.Status != 101 || end.Upstream != up.URL || end.Err != nil {
			t.Errorf("got %+v, want 101 from the upstream", end)
		}
		if u := p.Upstreams()[0]; u.Active != 0 || u.Failures != 0 {
			t.Errorf("got %+v, want no exchange and no failure", u)
		}
	})
}

func TestTrailersAndInformationalResponsesArePassedOn(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "1")
		w.Header().Set(http.TrailerPrefix+"X-Unannounced", "2")
	})
	to := make(chan webtest.ExchangeEnd, 1)
	bothWays(t, Config{Upstreams: []string{up.URL}}, noting(to), func(t *testing.T, url string, _ *Proxy) {
		var hints []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(code, " ", h.Get("Link"), h.Get("X-Before")))
			return nil
		}}
		r, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", url, nil)
		resp, err := webtest.Client(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		<-to
		if err != nil || string(body) != "body" || resp.Trailer.Get("X-Sum") != "1" || resp.Trailer.Get("X-Unannounced") != "2" {
			t.Errorf("got %q, %v, trailers %v, want the body with both trailers", body, err, resp.Trailer)
		}
		if len(hints) != 1 || hints[0] != "103 </a.css>; rel=preload" || resp.Header.Get("X-Before") != "kept" || resp.Header.Get("Link") != "" {
			t.Errorf("got %q, %v, want one 103, and its Link only there", hints, resp.Header)
		}
	})
}

// When the client has the page already, or a later component sends another, the upstream's body is
// closed.
func TestBodyThatIsNotSentIsClosed(t *testing.T) {
	gone := make(chan bool, 1)
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // it would never end
		gone <- true
	})
	after := web.Pipe(func(c *web.Conn) {
		if c.Path() == "/other" {
			c.Reply(403)
		}
	})
	around := func(p web.Component) web.Component { return web.Chain(p, after) }
	bothWays(t, Config{Upstreams: []string{up.URL}}, around, func(t *testing.T, url string, p *Proxy) {
		if resp, _ := do(t, "GET", url, "", "If-None-Match", `"a"`); resp.StatusCode != 304 {
			t.Errorf("got %d, want 304", resp.StatusCode)
		}
		<-gone
		if resp, body := do(t, "GET", url+"/other", ""); resp.StatusCode != 403 || body != "403 Forbidden\n" {
			t.Errorf("got %d %q, want 403 Forbidden", resp.StatusCode, body)
		}
		<-gone
		webtest.Until(t, "nothing is under way", func() bool { return p.Upstreams()[0].Active == 0 })
		if u := p.Upstreams()[0]; u.Failures != 0 {
			t.Errorf("got %+v, want no failure", u)
		}
	})
}

func TestHeadRangesAndLargeBodies(t *testing.T) {
	large := strings.Repeat("0123456789", 100_000)
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.txt", time.Unix(1_000_000_000, 0), strings.NewReader(large))
	})
	bothWays(t, Config{Upstreams: []string{up.URL}}, nil, func(t *testing.T, url string, _ *Proxy) {
		if resp, body := do(t, "GET", url, ""); body != large || resp.ContentLength != 1_000_000 {
			t.Errorf("got %d bytes of %d, want all of 1,000,000", len(body), resp.ContentLength)
		}
		if resp, body := do(t, "HEAD", url, ""); body != "" || resp.ContentLength != 1_000_000 {
			t.Errorf("HEAD: got %d bytes of %d, want none of 1,000,000", len(body), resp.ContentLength)
		}
		if resp, body := do(t, "GET", url, "", "Range", "bytes=10-14"); resp.StatusCode != 206 || body != "01234" || resp.Header.Get("Content-Range") != "bytes 10-14/1000000" {
			t.Errorf("got %d %q %v, want 206 with bytes 10 to 14", resp.StatusCode, body, resp.Header)
		}
	})
}

// An upstream that responds while it reads still gets the whole request body.
func TestBothDirectionsAtOnce(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		buf := make([]byte, 1<<10)
		for {
			n, err := r.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			_ = http.NewResponseController(w).Flush() // a piece may end within the writer's buffer
			if err != nil {
				return
			}
		}
	})
	bothWays(t, Config{Upstreams: []string{up.URL}}, nil, func(t *testing.T, url string, _ *Proxy) {
		body, more := io.Pipe()
		r, _ := http.NewRequestWithContext(t.Context(), "POST", url, body)
		// the response's header comes before the request's body is sent
		resp, err := webtest.Client(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for i := range 5 {
			word := fmt.Sprint(i, strings.Repeat("a", 50_000))
			go func() { _, _ = io.WriteString(more, word) }()
			got := make([]byte, len(word))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != word {
				t.Fatalf("got %.20q, %v, want the echo of each piece", got, err)
			}
		}
		more.Close()
		if rest, err := io.ReadAll(resp.Body); len(rest) != 0 || err != nil {
			t.Errorf("got %q, %v, want the end", rest, err)
		}
	})
}

func TestLargeRequestBodies(t *testing.T) {
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, " ", err, " ", r.ContentLength, " ", r.TransferEncoding)
	})
	bothWays(t, Config{Upstreams: []string{up.URL}}, nil, func(t *testing.T, url string, _ *Proxy) {
		if _, body := do(t, "POST", url, strings.Repeat("a", 1_000_000)); body != "1000000 <nil> 1000000 []" {
			t.Errorf("got %q, want the whole body with its length", body)
		}
		r, _ := http.NewRequestWithContext(t.Context(), "POST", url, io.MultiReader(strings.NewReader("abc"), strings.NewReader("def")))
		resp, err := webtest.Client(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); string(body) != "6 <nil> -1 [chunked]" {
			t.Errorf("got %q, want the whole body in chunks", body)
		}
	})
}

func TestUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "app.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(mirror)}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	defer func() { s.Close(); <-done; os.Remove(socket) }()
	url := webtest.Serve(t, "chain", newProxy(t, Config{Upstreams: []string{"unix:" + socket}, Host: "upstream"}))
	if _, body := do(t, "GET", url+"/a", ""); !strings.Contains(body, "GET /a \nHost: localhost\n") {
		t.Errorf("got %q, want the request at the socket", body)
	}
}

func TestOverTLS(t *testing.T) {
	var proto string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proto = r.Proto; mirror(w, r) }))
	s.EnableHTTP2, s.Config.ErrorLog = true, discardLog
	s.StartTLS()
	defer s.Close()
	url := webtest.Serve(t, "chain", newProxy(t, Config{Upstreams: []string{s.URL}, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}))
	if _, body := do(t, "POST", url+"/a", "text"); !strings.Contains(body, "POST /a text\n") || proto != "HTTP/2.0" {
		t.Errorf("got %q by %s, want the request over HTTP/2", body, proto)
	}
	strange := webtest.Serve(t, "chain", newProxy(t, Config{Upstreams: []string{s.URL}}))
	if resp, _ := do(t, "GET", strange, ""); resp.StatusCode != 502 {
		t.Errorf("an unsigned certificate: got %d, want 502", resp.StatusCode)
	}
}
