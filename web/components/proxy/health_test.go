package proxy

import (
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"weir/web/internal/webtest"
)

func TestConsecutiveFailuresSuspendAnUpstream(t *testing.T) {
	p := poolOf("", 2)
	now := time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	bad := p.upstreams[0]
	failing := func(n int) {
		for range n {
			bad.reading.Active++
			p.give(bad, errors.New("no"))
		}
	}
	failing(2)
	p.give(bad, nil)
	failing(2)
	if got := names(p, 2, ""); !slices.Contains(got, "0") {
		t.Errorf("two failures, a success, two failures: %v, want it still asked", got)
	}
	failing(1)
	if got := names(p, 4, ""); slices.Contains(got, "0") {
		t.Errorf("three in a row: %v, want it aside", got)
	}
	if u := p.take("", []*upstream{p.upstreams[1]}); u != bad {
		t.Errorf("the other was tried: %v, want the one that is aside all the same", u)
	}
	now = now.Add(11 * time.Second)
	if got := names(p, 2, ""); !slices.Contains(got, "0") {
		t.Errorf("later: %v, want it asked again", got)
	}
	failing(1)
	if got := names(p, 4, ""); slices.Contains(got, "0") {
		t.Errorf("and failed at once: %v, want it aside", got)
	}
	now = now.Add(11 * time.Second)
	p.give(bad, nil)
	failing(2)
	if got := names(p, 2, ""); !slices.Contains(got, "0") {
		t.Errorf("and was well: %v, want it asked", got)
	}
}

func TestConsecutiveChecksChangeTheState(t *testing.T) {
	p := poolOf("", 2)
	u, no := p.upstreams[0], errors.New("no")
	for i, step := range []struct {
		why  error
		down bool
	}{{no, false}, {nil, false}, {no, false}, {no, true}, {nil, true}, {no, true}, {nil, true}, {nil, false}} {
		if p.recordCheck(u, step.why); u.reading.Down != step.down {
			t.Errorf("step %d: down is %v, want %v", i, u.reading.Down, step.down)
		}
	}
	p.upstreams[0].reading.Down, p.upstreams[1].reading.Down = true, true
	if u := p.take("", nil); u != nil {
		t.Errorf("all are down: got %v, want no upstream", u.reading.Name)
	}
}

func TestHealthChecks(t *testing.T) {
	var ill atomic.Bool
	var path, host atomic.Value
	a := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("User-Agent") == "weir" {
			path.Store(r.URL.Path)
			host.Store(r.Host)
		}
		if ill.Load() {
			w.WriteHeader(503)
		}
	})
	p := newProxy(t, Config{Upstreams: []string{a.URL + "/base"}, HealthPath: "/healthz", HealthInterval: "10s"})
	url := webtest.Serve(t, "chain", p)
	webtest.Until(t, "it is checked at once", func() bool { return path.Load() != nil })
	if path.Load() != "/base/healthz" || host.Load() != p.pool.upstreams[0].target.Host {
		t.Errorf("got %v at %v, want /base/healthz at the upstream", path.Load(), host.Load())
	}
	quick := newProxy(t, Config{Upstreams: []string{a.URL}, HealthPath: "/", HealthInterval: "1s", HealthThreshold: 1})
	other := webtest.Serve(t, "network", quick)
	ill.Store(true)
	webtest.Until(t, "it is down", func() bool { return quick.Upstreams()[0].Down })
	if resp, _ := do(t, "GET", other, ""); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %v, want 503", resp.StatusCode, resp.Header)
	}
	if resp, _ := do(t, "GET", url, ""); resp.StatusCode != 503 { // it fails its own health check
		t.Errorf("got %d, want 503", resp.StatusCode)
	}
	ill.Store(false)
	webtest.Until(t, "it is up again", func() bool { return !quick.Upstreams()[0].Down })
	if resp, _ := do(t, "GET", other, ""); resp.StatusCode != 200 {
		t.Errorf("got %d, want 200", resp.StatusCode)
	}
}
