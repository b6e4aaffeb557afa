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

// Three failures in a row suspend an upstream for 10 s. Then one more failure suspends it again,
// and one success ends its history.
func TestConsecutiveFailuresSuspendAnUpstream(t *testing.T) {
	p := poolOf("", 2)
	now := time.Unix(1000, 0)
	p.now = func() time.Time { return now }
	first := p.upstreams[0]
	end := func(err error) { // one exchange of the first upstream
		first.reading.Active++ // as take does, whichever upstream is next
		p.give(first, err)
	}
	fail := func(n int) {
		for range n {
			end(errors.New("no"))
		}
	}
	// Two exchanges in a row use both upstreams, unless one is suspended.
	wantTaken := func(history string, want bool) {
		t.Helper()
		if got := takeNames(p, 2); slices.Contains(got, "0") != want {
			t.Errorf("%s: two exchanges got the upstreams %v, want upstream 0 among them: %t", history, got, want)
		}
	}
	fail(2)
	end(nil)
	fail(2)
	wantTaken("two failures, a success, two failures", true)
	fail(1)
	wantTaken("three failures in a row", false)
	if u := p.take("", []*upstream{p.upstreams[1]}, equal(p)); u != first {
		t.Errorf("the other upstream has been tried: got %v, want upstream 0, although it is suspended", u)
	}
	now = now.Add(testSuspendTime + time.Second)
	wantTaken("11 s after three failures", true)
	fail(1)
	wantTaken("one failure after a suspension", false)
	now = now.Add(testSuspendTime + time.Second)
	end(nil)
	fail(2)
	wantTaken("a success and two failures after a suspension", true)
}

// Two checks in a row with the same result change the state. A check that agrees with the state
// starts the count anew.
func TestConsecutiveChecksChangeTheState(t *testing.T) {
	p := poolOf("", 2)
	u, failure := p.upstreams[0], errors.New("no")
	for i, step := range []struct {
		result   error // of the check; nil: success
		wantDown bool
	}{
		{failure, false}, {nil, false}, // one failure
		{failure, false}, {failure, true}, // two failures
		{nil, true}, {failure, true}, // one success
		{nil, true}, {nil, false}, // two successes
	} {
		if p.recordCheck(u, step.result); u.reading.Down != step.wantDown {
			t.Errorf("check %d (%v): the upstream is down: %t, want %t", i, step.result, u.reading.Down, step.wantDown)
		}
	}
	p.upstreams[0].reading.Down, p.upstreams[1].reading.Down = true, true
	if u := p.take("", nil, equal(p)); u != nil {
		t.Errorf("all upstreams are down: got %v, want none", u.reading.Name)
	}
}

func TestHealthChecks(t *testing.T) {
	var ill atomic.Bool // the upstream answers 503
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
	slow := newProxy(t, Config{Upstreams: []string{a.URL + "/base"}, HealthPath: "/healthz", HealthInterval: "10s"})
	url := webtest.Serve(t, "chain", slow)
	webtest.Until(t, "the first check comes at once", func() bool { return path.Load() != nil })
	if path.Load() != "/base/healthz" || host.Load() != slow.pool.upstreams[0].target.Host {
		t.Errorf("the check requested %v at the host %v, want /base/healthz at the upstream's", path.Load(), host.Load())
	}
	quick := newProxy(t, Config{Upstreams: []string{a.URL}, HealthPath: "/", HealthInterval: "1s", HealthThreshold: 1})
	other := webtest.Serve(t, "network", quick)
	ill.Store(true)
	webtest.Until(t, "the upstream is down after a failed check", func() bool { return quick.Upstreams()[0].Down })
	if resp, _ := do(t, "GET", other, ""); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the upstream is down: got %d %v, want 503 with Retry-After", resp.StatusCode, resp.Header)
	}
	// slow's next check is up to 10 s away, so it still sends requests to the upstream.
	if resp, _ := do(t, "GET", url, ""); resp.StatusCode != 503 {
		t.Errorf("the upstream fails before a check has noticed: got %d, want its own 503 passed on", resp.StatusCode)
	}
	ill.Store(false)
	webtest.Until(t, "the upstream is up again after a check", func() bool { return !quick.Upstreams()[0].Down })
	if resp, _ := do(t, "GET", other, ""); resp.StatusCode != 200 {
		t.Errorf("the upstream is up again: got %d, want 200", resp.StatusCode)
	}
}
