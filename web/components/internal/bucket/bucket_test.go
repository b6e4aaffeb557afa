package bucket

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestABucketGivesItsBurstAndThenOneTokenAnInterval(t *testing.T) {
	b := New(time.Second, 3, 10)
	for _, step := range []struct {
		at   time.Duration
		want Standing
	}{
		{0, Standing{true, 2, time.Second, 0}},
		{0, Standing{true, 1, 2 * time.Second, 0}},
		{0, Standing{true, 0, 3 * time.Second, time.Second}},
		{0, Standing{false, 0, 3 * time.Second, time.Second}},
		{400 * time.Millisecond, Standing{false, 0, 2600 * time.Millisecond, 600 * time.Millisecond}},
		{time.Second, Standing{true, 0, 3 * time.Second, time.Second}},
		{time.Hour, Standing{true, 2, time.Second, 0}},
	} {
		if got := b.Take(Client{Key: "a"}, step.at); got != step.want {
			t.Errorf("at %v: %+v, want %+v", step.at, got, step.want)
		}
	}
}

// model is a token bucket by definition: it fills with time up to its size.
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
		b := New(interval, burst, 8)
		models := map[string]*model{}
		now := time.Duration(0)
		for range rapid.IntRange(1, 50).Draw(t, "requests") {
			now += time.Duration(rapid.Int64Range(0, 1500).Draw(t, "pause")) * time.Millisecond
			who := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "who")
			if models[who] == nil {
				models[who] = &model{tokens: float64(burst), at: now}
			}
			if want, got := models[who].take(interval, burst, now), b.Take(Client{Key: who}, now); got.OK != want {
				t.Fatalf("%s at %v: %+v, want %v", who, now, got, want)
			}
		}
	})
}

func TestLeastRecentlyUsedClientIsForgotten(t *testing.T) {
	b := New(time.Hour, 1, 3)
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
		if got := b.Take(Client{Key: step.who}, 0).OK; got != step.ok {
			t.Errorf("%s: got %v, want %v", step.who, got, step.ok)
		}
	}
	for i := range 1000 {
		b.Take(Client{Key: fmt.Sprint(i)}, 0)
	}
	if len(b.byClient) != 3 || b.recentlyUsed.Len() != 3 {
		t.Errorf("got %d buckets, %d in the list, want 3", len(b.byClient), b.recentlyUsed.Len())
	}
}

func TestATokenThatIsReturnedCanBeTakenAgain(t *testing.T) {
	b := New(time.Second, 2, 10)
	who := Client{Key: "a"}
	b.Take(who, 0)
	b.Take(who, 0)
	b.Return(who)
	if got := b.Take(who, 0); !got.OK {
		t.Errorf("after a token was returned: %+v, want another", got)
	}
	if got := b.Take(who, 0); got.OK {
		t.Errorf("another token: got %+v, want none: the bucket is empty", got)
	}
	b.Return(Client{Key: "never came"})
}
