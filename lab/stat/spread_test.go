package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/lab/result"
)

// recorded returns a trial whose counter grows by one of the values in each window of 500, with ten
// readings per window.
func recorded(block int, values ...float64) SampledTrial {
	r := SampledTrial{Block: block, Readings: []Reading{{}}}
	for _, v := range values {
		last := r.Readings[len(r.Readings)-1]
		for k := 1; k <= 10; k++ {
			r.Readings = append(r.Readings, Reading{last.At + 50*float64(k), last.Counter + v*float64(k)/10})
		}
	}
	return r
}

// noisy returns two trials per block. Their windows have the coefficient of variation cv; the mean
// differs from trial to trial.
func noisy(r *rand.Rand, blocks, windows int, cv float64) []SampledTrial {
	var trials []SampledTrial
	for t := range 2 * blocks {
		level := math.Exp(0.2 * r.NormFloat64())
		values := make([]float64, windows)
		for i := range values {
			values[i] = level * (1 + cv*r.NormFloat64())
		}
		trials = append(trials, recorded(t/2, values...))
	}
	return trials
}

func TestPoolOfKnownNumbers(t *testing.T) {
	// The first trial has a mean of 2 and relative deviations of -1/2, 0 and 1/2: a sum of squares
	// of 1/2 with two degrees of freedom. The second, at ten times the speed, has -1/4 and 1/4: 1/8
	// with one. The third has one window and no degree of freedom.
	s := PoolCV([]SampledTrial{recorded(0, 1, 2, 3), recorded(1, 15, 25), recorded(2, 7)}, 500)
	want := math.Sqrt((0.5+0.125)/3) / 0.9213177 // c4 of three degrees of freedom
	if math.Abs(s.CV-want) > 1e-6 || s.DF != 3 {
		t.Errorf("got %+v, want %v on 3 degrees of freedom", s, want)
	}
}

func TestC4MatchesItsTable(t *testing.T) {
	// Holtzman 1950 and tables since
	for df, want := range map[float64]float64{1: 0.7978846, 2: 0.8862269, 8: 0.9693107, 1000: 0.99975} {
		if got := c4(df); math.Abs(got-want) > 1e-6 {
			t.Errorf("c4 of %v degrees of freedom is %v, want %v", df, got, want)
		}
	}
}

func TestPoolOfTooFewWindowsHasNoVariation(t *testing.T) {
	for name, trials := range map[string][]SampledTrial{
		"no trials":             nil,
		"one window each":       {recorded(0, 1), recorded(0, 2), recorded(1, 3)},
		"nothing used":          {recorded(0, 0, 0, 0)},
		"no readings":           {{Block: 1}},
		"finer than the reader": {{Readings: []Reading{{0, 0}, {100_000, 1}}}},
	} {
		if s := PoolCV(trials, 500); s.DF != 0 || !math.IsNaN(s.CV) || s.Low != 0 || s.High != 0 || s.HasMinDF() {
			t.Errorf("%s: got %+v, want no coefficient of variation", name, s)
		}
	}
	if s := PoolCV([]SampledTrial{recorded(0, 1, 1, 1), recorded(1, 2, 2, 2)}, 500); s.CV > 1e-9 || s.High > 1e-6 || s.DF != 4 {
		t.Errorf("constant windows: got %+v, want 0 with 4 degrees of freedom", s)
	}
}

// TestPoolIsUnbiasedForShortTrials checks the correction by c4: without it, the mean CV of trials
// of two windows is 20 % too low.
func TestPoolIsUnbiasedForShortTrials(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, windows := range []int{2, 3, 10} {
		sum := 0.0
		for range simulations {
			sum += PoolCV(noisy(r, 4, windows, 0.05), 500).CV
		}
		if mean := sum / simulations; math.Abs(mean/0.05-1) > 0.02 {
			t.Errorf("%d windows per trial: got a mean CV of %v, want 0.05", windows, mean)
		}
	}
}

func TestPoolIgnoresUnitAndSpeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		trials := noisy(r, rapid.IntRange(1, 5).Draw(t, "blocks"), rapid.IntRange(2, 5).Draw(t, "windows"), 0.1)
		before := PoolCV(trials, 500)
		for i := range trials {
			speed := rapid.Float64Range(0.1, 10).Draw(t, "speed of a trial")
			for k := range trials[i].Readings {
				trials[i].Readings[k].Counter *= speed
			}
		}
		if after := PoolCV(trials, 500); !near(before.CV, after.CV) || !near(before.High, after.High) || before.DF != after.DF {
			t.Fatalf("got %+v for trials of other speeds, want %+v", after, before)
		}
	})
}

func TestSpreadRatioIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		blocks := rapid.IntRange(2, 8).Draw(t, "blocks")
		a, b := noisy(r, blocks, 3, 0.1), noisy(r, blocks, 3, 0.2)
		e, f := CVRatio(a, b, 500), CVRatio(b, a, 500)
		if !near(e.Ratio, 1/f.Ratio) || e.High != 0 && !near(e.Low, 1/f.High) || !near(e.P, f.P) {
			t.Fatalf("got a/b %+v and b/a %+v, want inverse ratios and equal p", e, f)
		}
	})
}

func TestTooFewWindowsAreNotCompared(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		name            string
		blocks, windows int
		short           bool
	}{
		{"three blocks of two windows", 3, 2, true}, // 6 degrees of freedom
		{"four of two", 4, 2, false},                // 8
		{"two of three", 2, 3, false},               // 8
		{"one of ten", 1, 10, false},                // 18, but one block
		{"many of one", 9, 1, true},
	} {
		a, b := noisy(r, c.blocks, c.windows, 0.01), noisy(r, c.blocks, c.windows, 0.5)
		for name, e := range map[string]Estimate{"interleaved": CVRatio(a, b, 500), "apart": UnpairedCVRatio(a, b, 500)} {
			if short := strings.HasPrefix(e.Warning, TooShort); short != c.short {
				t.Errorf("%s, %s: got warning %q, want too short: %v", c.name, name, e.Warning, c.short)
			}
			if v := Judge([]Estimate{e}, 0.05)[0]; c.short && (v.Word != result.Undecided || v.P != 1 || e.Low != 0 || e.High != 0) {
				t.Errorf("%s, %s: got %+v and %+v, want undecided without interval", c.name, name, e, v)
			}
		}
	}
	if e := CVRatio(nil, nil, 500); e.Ratio != 0 || e.P != 1 || !strings.HasPrefix(e.Warning, "no trials") {
		t.Errorf("no trials: got %+v, want no ratio and a warning", e)
	}
}

func TestSpreadRatioDropsIncompleteBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	a, b := noisy(r, 6, 3, 0.1), noisy(r, 6, 3, 0.1)
	got, want := CVRatio(a[1:], b, 500), CVRatio(a[2:], b[2:], 500)
	if got.Blocks != 5 || got.Dropped != 1 || got.Ratio != want.Ratio || got.Low != want.Low {
		t.Errorf("got %+v, want the estimate of the other five blocks, %+v", got, want)
	}
}

func TestSpreadApartFindsADifference(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	e := UnpairedCVRatio(noisy(r, 20, 5, 0.3), noisy(r, 10, 5, 0.1), 500)
	if e.Low > 3 || e.High < 3 || e.Low < 1.5 || e.Blocks != 10 {
		t.Errorf("got %+v, want about 3", e)
	}
}

func TestSpreadIsPooledByLength(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var trials []SampledTrial
	for block := range 4 { // two trials of 1 s a block
		trials = append(trials, noisy(r, 1, 2, 0.1)...)
		trials[2*block].Block, trials[2*block+1].Block = block, block
	}
	curve := CVByWindow(trials, 500, 100)
	if len(curve) != 3 || curve[0].Length != 125 || curve[0].DF != 8*7 || curve[2].Length != 500 || curve[2].DF != 8 {
		t.Fatalf("got %+v, want lengths of 125, 250 and 500 with 56, 24 and 8 degrees of freedom", curve)
	}
	if own := PoolCV(trials, 500); curve[2].PooledCV != own {
		t.Errorf("got %+v at the given window, want Pool's %+v", curve[2].PooledCV, own)
	}
	if curve := CVByWindow(trials[:2], 500, 100); len(curve) != 1 { // 14 and 6 degrees of freedom
		t.Errorf("two trials: got %+v, want one length", curve)
	}
}

// TestSpreadIntervalsReachTheStatedCoverage checks the coverage of the intervals for normal
// windows.
func TestSpreadIntervalsReachTheStatedCoverage(t *testing.T) {
	for _, c := range []struct{ blocks, windows int }{{2, 3}, {4, 2}, {5, 2}, {6, 2}, {10, 3}} {
		r := rand.New(rand.NewPCG(6, uint64(c.blocks)))
		var one, ratio rate
		for range simulations {
			a, b := noisy(r, c.blocks, c.windows, 0.06), noisy(r, c.blocks, c.windows, 0.03)
			s, e := PoolCV(a, 500), CVRatio(a, b, 500)
			one.count(s.Low <= 0.06 && 0.06 <= s.High)
			ratio.count(e.Low <= 2 && 2 <= e.High)
		}
		t.Logf("%d blocks of two trials of %d windows: %.1f %% of the intervals contain the CV, %.1f %% the ratio", c.blocks, c.windows, one.percent(), ratio.percent())
		if one.percent() < 93 || ratio.percent() < 94 {
			t.Errorf("%d blocks: got a coverage of %.1f %% (CV) and %.1f %% (ratio), want 93 %% and 94 %%", c.blocks, one.percent(), ratio.percent())
		}
	}
}
