package basic

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestABucketGivesItsBurstAndThenOneTokenAnInterval(t *testing.T) {
	b := newBuckets(time.Second, 3, 10)
	for _, step := range []struct {
		at   time.Duration
		want standing
	}{
		{0, standing{true, 2, time.Second, 0}},
		{0, standing{true, 1, 2 * time.Second, 0}},
		{0, standing{true, 0, 3 * time.Second, time.Second}},
		{0, standing{false, 0, 3 * time.Second, time.Second}},
		{400 * time.Millisecond, standing{false, 0, 2600 * time.Millisecond, 600 * time.Millisecond}},
		{time.Second, standing{true, 0, 3 * time.Second, time.Second}},
		{time.Hour, standing{true, 2, time.Second, 0}},
	} {
		if got := b.take(client{key: "a"}, step.at); got != step.want {
			t.Errorf("at %v: %+v, want %+v", step.at, got, step.want)
		}
	}
}

// model is a token bucket as it is told: it fills with time and is never fuller than full.
type model struct {
	tokens float64
	at     time.Duration
}

func (m *model) take(interval time.Duration, burst int, now time.Duration) bool {
	m.tokens = min(float64(burst), m.tokens+float64(now-m.at)/float64(interval))
	m.at = now
	if m.tokens < 1-1e-9 {
		return false
	}
	m.tokens--
	return true
}

func TestBucketsAreTokenBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(1, 1000).Draw(t, "interval")) * time.Millisecond
		burst := rapid.IntRange(1, 5).Draw(t, "burst")
		b := newBuckets(interval, burst, 8)
		models := map[string]*model{}
		now := time.Duration(0)
		for range rapid.IntRange(1, 50).Draw(t, "requests") {
			now += time.Duration(rapid.Int64Range(0, 1500).Draw(t, "pause")) * time.Millisecond
			who := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "who")
			if models[who] == nil {
				models[who] = &model{tokens: float64(burst), at: now}
			}
			if want, got := models[who].take(interval, burst, now), b.take(client{key: who}, now); got.ok != want {
				t.Fatalf("%s at %v: %+v, want %v", who, now, got, want)
			}
		}
	})
}

func TestWhoHasNotComeForLongestIsForgotten(t *testing.T) {
	b := newBuckets(time.Hour, 1, 3)
	for _, step := range []struct {
		who string
		ok  bool
	}{
		{"a", true}, {"b", true}, {"c", true}, {"a", false},
		{"d", true},  // b is forgotten
		{"a", false}, // and a is not
		{"c", false},
		{"b", true}, // as if it were new; d is forgotten
		{"d", true},
	} {
		if got := b.take(client{key: step.who}, 0).ok; got != step.ok {
			t.Errorf("%s: %v, want %v", step.who, got, step.ok)
		}
	}
	for i := range 1000 {
		b.take(client{key: fmt.Sprint(i)}, 0)
	}
	if len(b.of) != 3 || b.used.Len() != 3 {
		t.Errorf("%d buckets, %d in the list, want 3", len(b.of), b.used.Len())
	}
}

func TestWhatCountsAsOneClient(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:99":              "192.0.2.1/32",
		"[::ffff:192.0.2.1]:99":     "192.0.2.1/32",
		"[2001:db8:1:2:3:4:5:6]:99": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:99":         "fe80::/64",
		"@":                         "invalid Prefix",
	} {
		if got := network(remote).String(); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
	if network("@") != (netip.Prefix{}) {
		t.Error("what is no address is no client of its own")
	}
}
