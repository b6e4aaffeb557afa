package cache

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
	"weir/web/components/compress"
	"weir/web/internal/webtest"
)

// counted returns a source of a cacheable text, and the number of its calls.
func counted(body string) (web.Component, *int) {
	n := 0
	return web.Source(func(c *web.Conn) web.Body {
		n++
		c.SetHeader("Cache-Control", "max-age=100")
		c.SetHeader("Content-Type", "text/plain")
		c.SetHeader("Etag", `"tag"`)
		return web.String(body)
	}), &n
}

func cached(t *testing.T, cfg Config, inner web.Component) web.Component {
	t.Helper()
	c, err := Around(cfg, inner)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompressionInside checks that the output of inner filters is stored, one response for each
// coding. compress.Config.Cache is the memory in which compress keeps compressed bodies. By default
// it has some, and sets a compressed body as bytes. With "0" it has none, and compresses the body
// while it is sent. The cache must store both kinds of bodies.
func TestCompressionInside(t *testing.T) {
	text := strings.Repeat("again and again ", 1000)
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		for _, compressCache := range []string{"", "0"} {
			source, n := counted(text)
			zip, err := compress.New(compress.Config{Cache: compressCache})
			if err != nil {
				t.Fatal(err)
			}
			url := webtest.Serve(t, way, cached(t, Config{}, web.Chain(source, zip)))
			for i := range 3 {
				for j, accept := range []string{"gzip", "br", "identity"} {
					resp, body := webtest.Get(t, url, "Accept-Encoding", accept)
					hit := resp.Header.Get("Cache-Status") == "weir; hit"
					if hit != (i > 0) {
						t.Errorf("%s, compress with cache %q: round %d, %s: got Cache-Status %s, want a hit in all rounds but round 0", way, compressCache, i, accept, resp.Header.Get("Cache-Status"))
					}
					if want := j + 1; i == 0 && *n != want {
						t.Errorf("%s, compress with cache %q: got %d calls of the source after %s in round 0, want %d: one for each coding", way, compressCache, *n, accept, want)
					}
					if coded := resp.Header.Get("Content-Encoding"); accept != "identity" && (coded != accept || len(body) > 1000) || accept == "identity" && body != text {
						t.Errorf("%s: got %s for %s, %d bytes, want the accepted coding", way, coded, accept, len(body))
					}
					if hit && resp.ContentLength != int64(len(body)) {
						t.Errorf("%s: got a hit of length %d, want the length of the body", way, resp.ContentLength)
					}
				}
			}
		}
	}
}

// TestCompressionOutside checks that the body is stored unchanged, and that hits are compressed.
func TestCompressionOutside(t *testing.T) {
	source, n := counted(strings.Repeat("again and again ", 1000))
	zip, err := compress.New(compress.Config{})
	if err != nil {
		t.Fatal(err)
	}
	url := webtest.Serve(t, flow.Chain, web.Chain(cached(t, Config{}, source), zip))
	for _, accept := range []string{"gzip", "br", "gzip", "identity"} {
		resp, _ := webtest.Get(t, url, "Accept-Encoding", accept)
		if got := resp.Header.Get("Content-Encoding"); got != accept && accept != "identity" {
			t.Errorf("got %s for %s, want the accepted coding", got, accept)
		}
	}
	if *n != 1 {
		t.Errorf("the source got %d requests, want 1", *n)
	}
}

// TestOnlyFieldsOfTheInnerComponentAreStored checks that fields of components before and after the
// cache are set for each exchange, and not stored.
func TestOnlyFieldsOfTheInnerComponentAreStored(t *testing.T) {
	source, _ := counted("body")
	id := 0
	number := func(name string) web.Component {
		return web.Pipe(func(c *web.Conn) { id++; c.SetHeader(name, fmt.Sprint(id)) })
	}
	url := webtest.Serve(t, flow.Chain, web.Chain(number("X-Before"), cached(t, Config{}, web.Chain(source, number("X-Inside"))), number("X-After")))
	first, _ := webtest.Get(t, url)
	second, _ := webtest.Get(t, url)
	for name, same := range map[string]bool{"X-Before": false, "X-Inside": true, "X-After": false} {
		if a, b := first.Header.Get(name), second.Header.Get(name); a == "" || b == "" || (a == b) != same {
			t.Errorf("%s: got %q and %q, want both set, and equal only if stored", name, a, b)
		}
	}
}

func TestIncompleteAndUncacheableResponsesAreNotStored(t *testing.T) {
	cacheable := func(f web.Source) web.Component {
		return web.Source(func(c *web.Conn) web.Body { c.SetHeader("Cache-Control", "max-age=100"); return f(c) })
	}
	long := strings.Repeat("x", 2000)
	for what, c := range map[string]web.Component{
		"a stream that breaks off": cacheable(func(c *web.Conn) web.Body {
			return web.Stream(-1, func(w io.Writer) error {
				_, _ = io.WriteString(w, "some")
				_ = web.Flush(w)
				return errors.New("no more")
			})
		}),
		"a stream shorter than its declared length": cacheable(func(c *web.Conn) web.Body {
			return web.Stream(10, func(w io.Writer) error { _, err := io.WriteString(w, "some"); return err })
		}),
		"a stream longer than Largest": cacheable(func(c *web.Conn) web.Body {
			return web.Stream(-1, func(w io.Writer) error { _, err := io.WriteString(w, long); return err })
		}),
		"bytes longer than Largest": cacheable(func(c *web.Conn) web.Body { return web.String(long) }),
		"trailers": web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=100")
			w.Header().Set("Trailer", "X-End")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-End", "yes")
		})),
		"no answer, so 404": web.Pipe(func(*web.Conn) {}),
	} {
		url := webtest.Serve(t, flow.Chain, cached(t, Config{Largest: "1000"}, c))
		for range 2 {
			resp, err := webtest.Client(t).Get(url)
			if err != nil {
				continue // the connection was closed before the client had the header
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if got := resp.Header.Get("Cache-Status"); got != "weir; fwd=uri-miss" {
				t.Errorf("%s: got %q, want weir; fwd=uri-miss", what, got)
			}
		}
	}
}

// TestStreamedResponseIsStored checks that the output of a net/http handler that flushes is stored.
func TestStreamedResponseIsStored(t *testing.T) {
	n := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Cache-Control", "max-age=100")
		for range 3 {
			_, _ = io.WriteString(w, "some ")
			w.(http.Flusher).Flush()
		}
	})
	url := webtest.Serve(t, flow.Network, cached(t, Config{}, web.FromHTTP(h)))
	for range 3 {
		if _, body := webtest.Get(t, url); body != "some some some " {
			t.Errorf("got %q, want \"some some some \"", body)
		}
	}
	if n != 1 {
		t.Errorf("got %d calls, want one", n)
	}
}

// TestInvalidationDuringARequestPreventsStoring sends a POST while a response is made: that
// response is outdated and is not stored.
func TestInvalidationDuringARequestPreventsStoring(t *testing.T) {
	// the source -> the test, then the test -> the source; one value each
	started, proceed := make(chan struct{}), make(chan struct{})
	first := true
	source := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Cache-Control", "max-age=100")
		if c.Method() == "POST" {
			return web.String("changed")
		}
		wait := first
		first = false
		return web.Stream(-1, func(w io.Writer) error {
			if wait {
				started <- struct{}{}
				<-proceed
			}
			_, err := io.WriteString(w, "body")
			return err
		})
	})
	url := webtest.Serve(t, flow.Chain, cached(t, Config{}, source))
	done := make(chan struct{}) // closed by the first request
	go func() { defer close(done); webtest.Get(t, url) }()
	<-started
	resp, err := http.Post(url, "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	proceed <- struct{}{}
	<-done
	if resp, _ := webtest.Get(t, url); resp.Header.Get("Cache-Status") != "weir; fwd=uri-miss" {
		t.Errorf("got %s: want a response that was requested before the change not to be stored", resp.Header.Get("Cache-Status"))
	}
}

func TestStaleResponseIsUsedOnlyWhileARequestRevalidatesIt(t *testing.T) {
	now := time.Unix(1000, 0)
	s := &storedResponse{lifetime: 10 * time.Second, receivedAt: now, control: parseControl([]string{"max-age=10, stale-while-revalidate=5"})}
	plain := parseControl(nil)
	if got := s.usability(plain, now.Add(12*time.Second)); got != needsValidation {
		t.Errorf("stale, and no request revalidates: got usability %d, want needsValidation", got)
	}
	s.revalidationStart.Store(now.Add(11 * time.Second).UnixNano())
	for after, want := range map[time.Duration]usability{9: fresh, 12: staleWhileRevalidate, 15: staleWhileRevalidate, 16: needsValidation, 22: needsValidation} {
		if got := s.usability(plain, now.Add(after*time.Second)); got != want {
			t.Errorf("%d s old: got usability %d, want %d", after, got, want)
		}
	}
	if got := s.usability(parseControl([]string{"max-stale=20"}), now.Add(22*time.Second)); got != acceptedStale {
		t.Errorf("22 s old, max-stale=20: got usability %d, want acceptedStale", got)
	}
}

// TestMemoryIsBounded stores 100 responses of 5,000 bytes in a cache of 100 KB, which has room for
// fewer than 20. At least 10 must be in it. Then it stores 50 variants of one response, of which at
// most maxVariants may be in the cache.
func TestMemoryIsBounded(t *testing.T) {
	k, err := newCache(Config{Memory: "100KB"})
	if err != nil {
		t.Fatal(err)
	}
	source, _ := counted(strings.Repeat("x", 5000))
	url := webtest.Serve(t, flow.Chain, k.around(source))
	for i := range 100 {
		webtest.Get(t, fmt.Sprintf("%s/%d", url, i))
	}
	if k.store.Total() > 100<<10 || k.store.Len() < 10 {
		t.Errorf("got %d bytes in %d responses, want at most 100 KB and at least 10 responses", k.store.Total(), k.store.Len())
	}
	vary := web.Chain(source, web.Pipe(func(c *web.Conn) { c.Vary("X-Any") }))
	url = webtest.Serve(t, flow.Chain, k.around(vary))
	for i := range 50 {
		webtest.Get(t, url, "X-Any", fmt.Sprint(i))
	}
	for i := range 50 {
		resp, _ := webtest.Get(t, url, "X-Any", fmt.Sprint(i), "Cache-Control", "only-if-cached")
		if kept := resp.StatusCode == 200; kept && i < 50-maxVariants {
			t.Errorf("got variant %d of 50 from the cache, want at most %d stored", i, maxVariants)
		}
	}
}

func TestHeuristicFreshnessAppliesOnlyIfConfigured(t *testing.T) {
	for _, on := range []bool{false, true} {
		n := 0
		source := web.Source(func(c *web.Conn) web.Body {
			n++
			c.SetHeader("Last-Modified", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			return web.String("body")
		})
		url := webtest.Serve(t, flow.Chain, cached(t, Config{Heuristic: on}, source))
		webtest.Get(t, url)
		webtest.Get(t, url)
		if on != (n == 1) {
			t.Errorf("heuristic %v: got %d requests at the source, want 1 only if it is on", on, n)
		}
	}
}

func TestCacheInsideACacheAsksTheSourceOnce(t *testing.T) {
	source, n := counted("body")
	url := webtest.Serve(t, flow.Chain, cached(t, Config{}, cached(t, Config{}, source)))
	for range 3 {
		if _, body := webtest.Get(t, url); body != "body" {
			t.Errorf("got %q, want \"body\"", body)
		}
	}
	if *n != 1 {
		t.Errorf("got %d calls of the source, want 1", *n)
	}
}

func TestInvalidSizesAreRejected(t *testing.T) {
	for want, cfg := range map[string]Config{
		`cache: memory is "much", which is not a size`: {Memory: "much"},
		`cache: largest is "-1", which is not a size`:  {Largest: "-1"},
	} {
		if _, err := Around(cfg, web.Pipe(func(*web.Conn) {})); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}
