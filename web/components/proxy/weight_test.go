package proxy

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/web/internal/webtest"
)

// order returns the names of the upstreams that n exchanges get, one after the other.
func order(p *pool, weights []int, n int) string {
	var names strings.Builder
	for range n {
		u := p.take("", nil, weights)
		names.WriteString(u.reading.Name)
		p.give(u, nil)
	}
	return names.String()
}

func TestTurnsAreSpreadInProportionToTheWeights(t *testing.T) {
	for _, c := range []struct {
		weights []int
		want    string
	}{
		{[]int{1, 1, 1}, "012012"},
		{[]int{5, 1, 1}, "0010200" + "0010200"},
		{[]int{3, 2, 1}, "010210" + "010210"},
		{[]int{2, 0, 1}, "020" + "020"},
		{[]int{0, 0, 7}, "222"},
		{[]int{1000, 1000}, "0101"},
	} {
		if got := order(poolOf("", 3-b2i(len(c.weights) == 2)), c.weights, len(c.want)); got != c.want {
			t.Errorf("weights %v: got the turns %s, want %s", c.weights, got, c.want)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// In any sequence of as many turns as the sum of the weights, each upstream has as many as its
// weight says, at most one more or less.
func TestEveryRoundHasTheWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "upstreams")
		weights, total := make([]int, n), 0
		for i := range weights {
			weights[i] = rapid.IntRange(b2i(i == 0), 9).Draw(t, "weight")
			total += weights[i]
		}
		turns := order(poolOf("", n), weights, 4*total)
		from := rapid.IntRange(0, 3*total).Draw(t, "from")
		for i, w := range weights {
			if got := strings.Count(turns[from:from+total], fmt.Sprint(i)); got < w-1 || got > w+1 || w == 0 && got > 0 {
				t.Errorf("weights %v: got %d turns of %d in %q, want %d", weights, got, i, turns[from:from+total], w)
			}
		}
	})
}

func TestFewestExchangesAreCountedPerWeight(t *testing.T) {
	p := poolOf("least connections", 3)
	weights := []int{4, 2, 0}
	for range 12 {
		p.take("", nil, weights)
	}
	for i, want := range []int{8, 4, 0} {
		if got := p.upstreams[i].reading.Active; got != want {
			t.Errorf("upstream %d of weight %d: got %d of 12 exchanges in progress, want %d", i, weights[i], got, want)
		}
	}
	for range 3 {
		p.give(p.upstreams[1], nil)
	}
	if got := p.take("", nil, weights).reading.Name; got != "1" {
		t.Errorf("upstream 1 has 1 exchange for weight 2, upstream 0 has 8 for 4: got %s, want 1", got)
	}
}

func TestTheHashGivesClientsInProportionToTheWeights(t *testing.T) {
	p, weights, count := poolOf("hash", 3), []int{6, 2, 0}, map[string]int{}
	for i := range 8000 {
		count[p.take(fmt.Sprint("client", i), nil, weights).reading.Name]++
	}
	if a, b := count["0"], count["1"]; math.Abs(float64(a)-6000) > 200 || a+b != 8000 {
		t.Errorf("weights %v: got %v of 8000 clients, want about 6000 and 2000", weights, count)
	}
}

// A new weight moves clients only from or to its own upstream.
func TestANewWeightMovesOnlyClientsOfItsUpstream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "upstreams")
		p, weights := poolOf("hash", n), make([]int, n)
		for i := range weights {
			weights[i] = rapid.IntRange(1, 9).Draw(t, "weight")
		}
		key := rapid.String().Draw(t, "key")
		before := p.take(key, nil, weights)
		changed := rapid.IntRange(0, n-1).Draw(t, "changed")
		old := weights[changed]
		weights[changed] = rapid.IntRange(0, 20).Draw(t, "new weight")
		after := p.take(key, nil, weights)
		switch {
		case before == after:
		case weights[changed] > old && after != p.upstreams[changed], weights[changed] < old && before != p.upstreams[changed]:
			t.Errorf("weight %d of %d became %d: got a move from %s to %s", old, changed, weights[changed], before.reading.Name, after.reading.Name)
		}
	})
}

// A drained upstream gets no exchange, even if all others are suspended, tried or down. Its share
// goes to the others.
func TestADrainedUpstreamGetsNoExchange(t *testing.T) {
	for name := range policies {
		p, weights := poolOf(name, 3), []int{2, 1, 0}
		p.upstreams[0].reading.SuspendedUntil = p.now().Add(time.Hour)
		for range 10 {
			if got := p.take("", nil, weights).reading.Name; got != "1" {
				t.Errorf("%q, upstream 0 suspended: got %s, want 1", name, got)
			}
		}
		if got := p.take("", p.upstreams[1:2], weights).reading.Name; got != "0" {
			t.Errorf("%q, upstream 1 tried: got %s, want the suspended one rather than the drained one", name, got)
		}
		p.upstreams[0].reading.Down, p.upstreams[1].reading.Down = true, true
		if u := p.take("", nil, weights); u != nil {
			t.Errorf("%q, the others down: got %s, want none", name, u.reading.Name)
		}
	}
}

// Weights belong to one view of the upstreams: a new one shares all that is known of them.
func TestOtherWeightsShareTheUpstreams(t *testing.T) {
	a, b := named(t, "a"), named(t, "b")
	first := newProxy(t, Config{Upstreams: []string{a.URL, b.URL}, Weights: map[string]int{b.URL: 0}, MaxFails: 1})
	url := webtest.Serve(t, "chain", first)
	for range 3 {
		if _, body := do(t, "GET", url, ""); body != "a" {
			t.Errorf("got %q, want the upstream that is not drained", body)
		}
	}
	second, err := first.WithWeights(map[string]int{a.URL: 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, body := do(t, "GET", webtest.Serve(t, "network", second), ""); body != "b" {
		t.Errorf("with other weights: got %q, want b", body)
	}
	if _, body := do(t, "GET", url, ""); body != "a" {
		t.Errorf("the first proxy: got %q, want its own weights to hold still", body)
	}
	for i, want := range []UpstreamReading{{Name: a.URL, Requests: 4, Weight: 0}, {Name: b.URL, Requests: 1, Weight: 1}} {
		if got := second.Upstreams()[i]; got != want {
			t.Errorf("got %+v, want %+v: the counts of both proxies, the weight of the second", got, want)
		}
	}
	if got := second.Upstreams()[0].State() + " " + second.Upstreams()[1].State(); got != "drained up" {
		t.Errorf("got the states %s, want drained up", got)
	}
}

// An exchange that is in progress when its upstream is drained completes.
func TestAnExchangeOfADrainedUpstreamCompletes(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	slow := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-finish
		_, _ = io.WriteString(w, "complete")
	})
	other := named(t, "other")
	p := newProxy(t, Config{Upstreams: []string{slow.URL, other.URL}})
	url := webtest.Serve(t, "chain", p)
	got := make(chan string, 1) // from the request's goroutine -> to the test; never closed
	go func() { _, body := do(t, "GET", url, ""); got <- body }()
	<-begun
	drained, err := p.WithWeights(map[string]int{slow.URL: 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, body := do(t, "GET", webtest.Serve(t, "chain", drained), ""); body != "other" {
		t.Errorf("after draining: got %q, want the other upstream", body)
	}
	close(finish)
	if body := webtest.Receive(t, got, "the response in progress"); body != "complete" {
		t.Errorf("the exchange in progress: got %q, want it complete", body)
	}
}

func TestInvalidWeightsAreRejected(t *testing.T) {
	up := []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}
	for says, weights := range map[string]map[string]int{
		`weights has "127.0.0.1:1", which is not in upstreams`: {"127.0.0.1:1": 1},
		`weights has -1 for "http://127.0.0.1:1": write 0`:     {up[0]: -1},
		`weights has 1001 for "http://127.0.0.1:1": write 0`:   {up[0]: 1001},
		`weights are all 0`: {up[0]: 0, up[1]: 0},
	} {
		if p, err := New(Config{Upstreams: up, Weights: weights}); err == nil || p != nil || !strings.HasPrefix(err.Error(), "proxy: "+says) {
			t.Errorf("%v: got %v, want %q", weights, err, says)
		}
	}
}
