package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/web/internal/webtest"
)

// Settings of the pools that poolOf returns.
const (
	testMaxFails       = 3                // consecutive failures that suspend an upstream
	testSuspendTime    = 10 * time.Second // how long it stays suspended
	testCheckThreshold = 2                // consecutive checks that change its state
)

// poolOf returns a pool of n upstreams with a constant clock. The upstreams are named "0", "1" and
// so on. policy "" is round robin.
func poolOf(policy string, n int) *pool {
	p := &pool{now: func() time.Time { return time.Unix(1000, 0) }, choose: policies[policy], maxFails: testMaxFails, suspendTime: testSuspendTime, checkThreshold: testCheckThreshold}
	for i := range n {
		p.upstreams = append(p.upstreams, &upstream{reading: UpstreamReading{Name: strconv.Itoa(i)}})
	}
	return p
}

// equal returns equal weights for the upstreams of a pool.
func equal(p *pool) []int { return slices.Repeat([]int{1}, len(p.upstreams)) }

// takeNames takes an upstream for each of n exchanges, without a hash key, and returns the names of
// the upstreams.
func takeNames(p *pool, n int) []string {
	var taken []string
	for range n {
		taken = append(taken, p.take("", nil, equal(p)).reading.Name)
	}
	return taken
}

func TestRoundRobin(t *testing.T) {
	if got := takeNames(poolOf("", 3), 6); !slices.Equal(got, []string{"0", "1", "2", "0", "1", "2"}) {
		t.Errorf("round robin: got %v, want each upstream once in every three", got)
	}
}

func TestLeastConnections(t *testing.T) {
	p := poolOf("least connections", 3)
	for range 9 {
		p.take("", nil, equal(p))
	}
	for _, u := range p.upstreams {
		if u.reading.Active != 3 {
			t.Errorf("%s has %d of 9, want 3", u.reading.Name, u.reading.Active)
		}
	}
	p.give(p.upstreams[1], nil)
	p.give(p.upstreams[1], nil)
	if got := takeNames(p, 2); !slices.Equal(got, []string{"1", "1"}) {
		t.Errorf("upstream 1 has the fewest exchanges: got %v, want it", got)
	}
}

func TestHashIsUniform(t *testing.T) {
	p, count := poolOf("hash", 4), map[string]int{}
	for i := range 8000 {
		count[p.take(fmt.Sprint("10.0.", i/256, ".", i%256), nil, equal(p)).reading.Name]++
	}
	for name, n := range count {
		if n < 1700 || n > 2300 {
			t.Errorf("%s has %d of 8000 keys, want about 2000", name, n)
		}
	}
}

// When an upstream fails, only its keys move, and they return with it.
func TestHashMovesOnlyClientsOfAFailedUpstream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := poolOf("hash", rapid.IntRange(2, 9).Draw(t, "upstreams"))
		key := rapid.String().Draw(t, "key")
		goes := p.upstreams[rapid.IntRange(0, len(p.upstreams)-1).Draw(t, "goes")]
		home := p.take(key, nil, equal(p))
		goes.reading.Down = true
		if now := p.take(key, nil, equal(p)); (now != home) != (home == goes) {
			t.Errorf("%s fails: got a move from %s to %s, want only its keys to move", goes.reading.Name, home.reading.Name, now.reading.Name)
		}
		goes.reading.Down = false
		if now := p.take(key, nil, equal(p)); now != home {
			t.Errorf("%s is up again: got %s, want %s as before its failure", goes.reading.Name, now.reading.Name, home.reading.Name)
		}
	})
}

func TestHashDependsOnlyOnItsConfiguredInput(t *testing.T) {
	a, b := named(t, "a"), named(t, "b")
	for by, vary := range map[string]func(i int) []string{
		"address":        func(i int) []string { return []string{"X-Tenant", strconv.Itoa(i)} },
		"header X-T":     func(i int) []string { return []string{"X-T", "blue", "Cookie", "sid=" + strconv.Itoa(i)} },
		"cookie session": func(i int) []string { return []string{"X-T", strconv.Itoa(i), "Cookie", "a=b; session=blue"} },
	} {
		bothWays(t, Config{Upstreams: []string{a.URL, b.URL}, Policy: "hash", HashBy: by}, nil, func(t *testing.T, url string, _ *Proxy) {
			_, first := do(t, "GET", url, "")
			if by != "address" {
				_, first = do(t, "GET", url, "", vary(0)...)
			}
			for i := range 8 {
				if _, got := do(t, "GET", url, "", vary(i)...); got != first {
					t.Errorf("hash by %s: a request with the same key got upstream %s, want %s as before", by, got, first)
				}
			}
		})
	}
}

func TestPoliciesWithRequests(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 10)
	slow := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) { in <- struct{}{}; <-hold })
	quick := named(t, "quick")
	p := newProxy(t, Config{Upstreams: []string{slow.URL, quick.URL}, Policy: "least connections"})
	url := webtest.Serve(t, "chain", p)
	done := make(chan string, 1)
	go func() { _, body := do(t, "GET", url, ""); done <- body }()
	<-in
	for range 5 {
		if _, body := do(t, "GET", url, ""); body != "quick" {
			t.Errorf("least connections: got upstream %q, want quick, which has no exchange", body)
		}
	}
	close(hold)
	<-done
}
