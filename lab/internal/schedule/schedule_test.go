package schedule

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
		p := Schedule{Start: 5 * ms, Pattern: test.pattern, N: test.n, Period: test.period}.Order()
		got := ""
		for k := range 9 {
			at, conn := p.Peek()
			if k > 0 {
				got += " "
			}
			got += fmt.Sprintf("%d:%d", at/ms-5, conn)
			p.Advance()
		}
		if got != test.want {
			t.Errorf("%s, %d connections: got due times %s, want %s", test.pattern, test.n, got, test.want)
		}
	}
}

func drawSchedule(t *rapid.T) Schedule {
	return Schedule{
		Start:   rapid.Int64Range(0, 1<<50).Draw(t, "start"),
		Pattern: rapid.SampledFrom([]string{Staggered, Together, Poisson}).Draw(t, "pattern"),
		N:       rapid.IntRange(1, 200).Draw(t, "n"),
		Period:  1e9 / rapid.Float64Range(0.001, 1e6).Draw(t, "rate"),
		Seed:    rapid.Uint64().Draw(t, "seed"),
	}
}

// TestOrderNeverGoesBackAndAgreesWithEachConnection: the merged order and each connection's own
// sequence come from one schedule.
func TestOrderNeverGoesBackAndAgreesWithEachConnection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		p := s.Order()
		own := make([]Moment, s.N)
		for i := range own {
			own[i] = s.First(i)
		}
		last := int64(math.MinInt64)
		for range 5 * s.N {
			at, i := p.Peek()
			if at < last {
				t.Fatalf("connection %d: got due time %d after %d, want increasing times", i, at, last)
			}
			if at != own[i].At {
				t.Fatalf("connection %d, message %d: got %d in the merged order, want its own %d", i, own[i].K, at, own[i].At)
			}
			if next := s.After(i, own[i]); next.K != own[i].K+1 || next.At < own[i].At {
				t.Fatalf("got %+[2]v after %+[1]v, want the next number at no earlier time", own[i], next)
			} else {
				own[i] = next
			}
			p.Advance()
			last = at
		}
		for i := range own {
			if at, _ := p.Peek(); own[i].At < at {
				t.Fatalf("at %d the order has omitted connection %d's message at %d, want it in order", at, i, own[i].At)
			}
		}
	})
}

// TestPeriodicTimesDoNotDrift: rounding errors stay below a few nanoseconds in runs of any length.
func TestPeriodicTimesDoNotDrift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 1e5).Draw(t, "rate")
		k := rapid.Uint64Range(0, uint64(rate*86400)).Draw(t, "k")
		s := Schedule{Pattern: Together, N: 1, Period: 1e9 / rate}
		exact := new(big.Float).SetPrec(200).SetUint64(k)
		exact.Mul(exact, big.NewFloat(1e9)).Quo(exact, big.NewFloat(rate))
		want, _ := exact.Int64()
		if off := s.At(0, k) - want; off < -20 || off > 20 {
			t.Fatalf("message %d at %v/s: got an error of %d ns within a day, want at most 20", k, rate, off)
		}
	})
}

func TestRoundsStartWithTheFirstConnection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		s.Pattern = rapid.SampledFrom([]string{Staggered, Together}).Draw(t, "periodic")
		at := s.Start + rapid.Int64Range(0, int64(100*s.Period)).Draw(t, "after")
		round := s.Round(at)
		if round < at || float64(round-at) > s.Period+2 {
			t.Fatalf("got a round at %[2]d for time %[1]d, want one at most a period of %[3]v later", at, round, s.Period)
		}
	})
}

// TestPoissonGapsAreExponential: mean and standard deviation of exponential gaps both equal the
// period. 1 in 60,000 seeds may deviate by 4 sigma; this one does not.
func TestPoissonGapsAreExponential(t *testing.T) {
	const n, period = 20_000, 1e6
	s := Schedule{Pattern: Poisson, N: 64, Period: period, Seed: 1}
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
		s := Schedule{Pattern: Poisson, N: 2, Period: 1e6, Seed: seed}
		m := s.First(i)
		for range 10 {
			times = append(times, m.At)
			m = s.After(i, m)
		}
		return times
	}
	if !slices.Equal(walk(1, 0), walk(1, 0)) {
		t.Error("the same Seed: got different times, want the same")
	}
	if slices.Equal(walk(1, 0), walk(2, 0)) {
		t.Error("another Seed: got the same times, want others")
	}
	if slices.Equal(walk(1, 0), walk(1, 1)) {
		t.Error("another connection: got the same times, want others")
	}
}

func TestPlansDoNotAllocate(t *testing.T) {
	for _, pattern := range []string{Staggered, Together, Poisson} {
		p := Schedule{Pattern: pattern, N: 1000, Period: 1e8}.Order()
		if n := testing.AllocsPerRun(1000, func() { p.Peek(); p.Advance() }); n > 0 {
			t.Errorf("%s: got %v allocations per message, want 0", pattern, n)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, pattern := range []string{Staggered, Together, Poisson} {
		b.Run(pattern, func(b *testing.B) {
			p := Schedule{Pattern: pattern, N: 10_000, Period: 1e8}.Order()
			for b.Loop() {
				p.Peek()
				p.Advance()
			}
		})
	}
}

// TestThenPredictsTheNextTurn: then is exact, except where the same connection of a Poisson process
// is due again before any other.
func TestThenPredictsTheNextTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{Start: 1000, Pattern: rapid.SampledFrom(Patterns).Draw(t, "pattern"), N: rapid.IntRange(1, 70).Draw(t, "n"), Period: 1e6, Seed: rapid.Uint64().Draw(t, "seed")}
		p := s.Order()
		for range 5 * s.N {
			then := p.Then()
			_, was := p.Peek()
			p.Advance()
			at, i := p.Peek()
			if then != at && !(s.Pattern == Poisson && i == was && then > at) {
				t.Fatalf("then returned %d, want %d, when connection %d is due after connection %d", then, at, i, was)
			}
		}
	})
}
