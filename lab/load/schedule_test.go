package load

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestFirstMessagesAreDue(t *testing.T) {
	const ms = 1_000_000
	for _, test := range []struct {
		pattern string
		n       int
		period  float64
		want    string // (time in ms, connection) in order
	}{
		{Staggered, 4, 8 * ms, "0:0 2:1 4:2 6:3 8:0 10:1 12:2 14:3 16:0"},
		{Together, 4, 8 * ms, "0:0 0:1 0:2 0:3 8:0 8:1 8:2 8:3 16:0"},
		{Staggered, 1, 8 * ms, "0:0 8:0 16:0 24:0 32:0 40:0 48:0 56:0 64:0"},
		{Staggered, 2, 1000 * ms, "0:0 500:1 1000:0 1500:1 2000:0 2500:1 3000:0 3500:1 4000:0"},
	} {
		p := newOrder(schedule{start: 5 * ms, pattern: test.pattern, n: test.n, period: test.period}, 10)
		got := ""
		for k := range 9 {
			at, conn := p.peek()
			if k > 0 {
				got += " "
			}
			got += fmt.Sprintf("%d:%d", at/ms-5, conn)
			if n := p.take(at); n != 10 {
				t.Errorf("%s: got %d bytes from take, want the message's 10", test.pattern, n)
			}
		}
		if got != test.want {
			t.Errorf("%s, %d connections: got due times %s, want %s", test.pattern, test.n, got, test.want)
		}
	}
}

func drawSchedule(t *rapid.T) schedule {
	return schedule{
		start:   rapid.Int64Range(0, 1<<50).Draw(t, "start"),
		pattern: rapid.SampledFrom([]string{Staggered, Together, Poisson}).Draw(t, "pattern"),
		n:       rapid.IntRange(1, 200).Draw(t, "n"),
		period:  1e9 / rapid.Float64Range(0.001, 1e6).Draw(t, "rate"),
		seed:    rapid.Uint64().Draw(t, "seed"),
	}
}

// TestOrderNeverGoesBackAndAgreesWithEachConnection: the merged order and each connection's own
// sequence come from one schedule.
func TestOrderNeverGoesBackAndAgreesWithEachConnection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		p := newOrder(s, 1)
		own := make([]moment, s.n)
		for i := range own {
			own[i] = s.first(i)
		}
		last := int64(math.MinInt64)
		for range 5 * s.n {
			at, i := p.peek()
			if at < last {
				t.Fatalf("connection %d: got due time %d after %d, want increasing times", i, at, last)
			}
			if at != own[i].at {
				t.Fatalf("connection %d, message %d: got %d in the merged order, want its own %d", i, own[i].k, at, own[i].at)
			}
			if next := s.after(i, own[i]); next.k != own[i].k+1 || next.at < own[i].at {
				t.Fatalf("got %+[2]v after %+[1]v, want the next number at no earlier time", own[i], next)
			} else {
				own[i] = next
			}
			p.take(at)
			last = at
		}
		for i := range own {
			if at, _ := p.peek(); own[i].at < at {
				t.Fatalf("at %d the order has omitted connection %d's message at %d, want it in order", at, i, own[i].at)
			}
		}
	})
}

// TestPeriodicTimesDoNotDrift: rounding errors stay below a few nanoseconds in runs of any length.
func TestPeriodicTimesDoNotDrift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 1e5).Draw(t, "rate")
		k := rapid.Uint64Range(0, uint64(rate*86400)).Draw(t, "k")
		s := schedule{pattern: Together, n: 1, period: 1e9 / rate}
		exact := new(big.Float).SetPrec(200).SetUint64(k)
		exact.Mul(exact, big.NewFloat(1e9)).Quo(exact, big.NewFloat(rate))
		want, _ := exact.Int64()
		if off := s.periodic(0, k) - want; off < -20 || off > 20 {
			t.Fatalf("message %d at %v/s: got an error of %d ns within a day, want at most 20", k, rate, off)
		}
	})
}

func TestRoundsStartWithTheFirstConnection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		s.pattern = rapid.SampledFrom([]string{Staggered, Together}).Draw(t, "periodic")
		at := s.start + rapid.Int64Range(0, int64(100*s.period)).Draw(t, "after")
		round := s.round(at)
		if round < at || float64(round-at) > s.period+2 {
			t.Fatalf("got a round at %[2]d for time %[1]d, want one at most a period of %[3]v later", at, round, s.period)
		}
	})
}

// TestPoissonGapsAreExponential: mean and standard deviation of exponential gaps both equal the
// period. 1 in 60,000 seeds may deviate by 4 sigma; this one does not.
func TestPoissonGapsAreExponential(t *testing.T) {
	const n, period = 20_000, 1e6
	s := schedule{pattern: Poisson, n: 64, period: period, seed: 1}
	for _, i := range []int{0, 1, 63} {
		var sum, squares float64
		for k := range uint64(n) {
			g := float64(s.gap(i, k))
			sum, squares = sum+g, squares+g*g
		}
		mean := sum / n
		deviation := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean/period-1) > 4/math.Sqrt(n) || math.Abs(deviation/period-1) > 8/math.Sqrt(n) {
			t.Errorf("connection %d: got mean %.0f and standard deviation %.0f of gaps, want %.0f", i, mean, deviation, period)
		}
	}
}

func TestPoissonDependsOnSeedAndConnection(t *testing.T) {
	walk := func(seed uint64, i int) (times []int64) {
		s := schedule{pattern: Poisson, n: 2, period: 1e6, seed: seed}
		m := s.first(i)
		for range 10 {
			times = append(times, m.at)
			m = s.after(i, m)
		}
		return times
	}
	if !slices.Equal(walk(1, 0), walk(1, 0)) {
		t.Error("the same seed: got different times, want the same")
	}
	if slices.Equal(walk(1, 0), walk(2, 0)) {
		t.Error("another seed: got the same times, want others")
	}
	if slices.Equal(walk(1, 0), walk(1, 1)) {
		t.Error("another connection: got the same times, want others")
	}
}

func TestPlansDoNotAllocate(t *testing.T) {
	for _, pattern := range []string{Staggered, Together, Poisson} {
		p := newOrder(schedule{pattern: pattern, n: 1000, period: 1e8}, 1)
		if n := testing.AllocsPerRun(1000, func() { p.peek(); p.take(0) }); n > 0 {
			t.Errorf("%s: got %v allocations per message, want 0", pattern, n)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, pattern := range []string{Staggered, Together, Poisson} {
		b.Run(pattern, func(b *testing.B) {
			p := newOrder(schedule{pattern: pattern, n: 10_000, period: 1e8}, 1)
			for b.Loop() {
				p.peek()
				p.take(0)
			}
		})
	}
}

// TestThenPredictsTheNextTurn: then is exact, except where the same connection of a Poisson process
// is due again before any other.
func TestThenPredictsTheNextTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := schedule{start: 1000, pattern: rapid.SampledFrom(Patterns).Draw(t, "pattern"), n: rapid.IntRange(1, 70).Draw(t, "n"), period: 1e6, seed: rapid.Uint64().Draw(t, "seed")}
		p := newOrder(s, 10)
		for range 5 * s.n {
			then := p.then()
			_, was := p.peek()
			p.take(0)
			at, i := p.peek()
			if then != at && !(s.pattern == Poisson && i == was && (then > at || s.n == 1 && then == 0)) {
				t.Fatalf("then returned %d, want %d, when connection %d is due after connection %d", then, at, i, was)
			}
		}
	})
}
