package stat

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mirrored lays out subjects' trials in palindromic blocks. value returns the value at each
// position.
func mirrored(blocks, subjects int, value func(block, position, subject int) float64) [][]Trial {
	trials := make([][]Trial, subjects)
	for b := range blocks {
		for p := range 2 * subjects {
			s := min(p, 2*subjects-1-p)
			trials[s] = append(trials[s], Trial{b, p, value(b, p, s)})
		}
	}
	return trials
}

func drawPair(t *rapid.T) (a, b []Trial) {
	noise := rapid.Float64Range(0.5, 20)
	pair := mirrored(rapid.IntRange(2, 12).Draw(t, "blocks"), 2, func(_, _, _ int) float64 { return noise.Draw(t, "value") })
	return pair[0], pair[1]
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)+math.Abs(b)) }

func TestRatioOfKnownNumbers(t *testing.T) {
	// Block differences of the logarithm: 0.1, 0.2, 0.3. Mean 0.2, standard error 0.1/sqrt(3), t(2)
	// = 4.302653.
	pair := mirrored(3, 2, func(b, _, s int) float64 {
		if s == 0 {
			return math.Exp(0.1 * float64(b+1))
		}
		return 1
	})
	e := PairedRatio(pair[0], pair[1])
	half := 4.302652729911275 * 0.1 / math.Sqrt(3)
	if !near(e.Ratio, math.Exp(0.2)) || !near(e.Low, math.Exp(0.2-half)) || !near(e.High, math.Exp(0.2+half)) {
		t.Errorf("ratio %v from %v to %v, want %v from %v to %v", e.Ratio, e.Low, e.High, math.Exp(0.2), math.Exp(0.2-half), math.Exp(0.2+half))
	}
	if math.Abs(e.P-0.0741799) > 1e-6 { // t = 2 sqrt(3), 2 degrees of freedom
		t.Errorf("p = %v, want 0.07418", e.P)
	}
}

func TestRatioIgnoresTheUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPair(t)
		k := rapid.Float64Range(1e-6, 1e6).Draw(t, "unit")
		e, f := PairedRatio(a, b), PairedRatio(scale(a, k), scale(b, k))
		if !near(e.Ratio, f.Ratio) || !near(e.Low, f.Low) || !near(e.High, f.High) {
			t.Fatalf("got %+v in one unit and %+v in another, want the same", e, f)
		}
	})
}

func TestRatioScalesWithItsFirstSubject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPair(t)
		k := rapid.Float64Range(0.1, 10).Draw(t, "factor")
		e, f := PairedRatio(a, b), PairedRatio(scale(a, k), b)
		if !near(k*e.Ratio, f.Ratio) || !near(k*e.Low, f.Low) || !near(k*e.High, f.High) {
			t.Fatalf("got %+v for values scaled by %v, want %+v scaled", f, k, e)
		}
	})
}

func TestRatioIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPair(t)
		e, f := PairedRatio(a, b), PairedRatio(b, a)
		if !near(e.Ratio, 1/f.Ratio) || !near(e.Low, 1/f.High) || !near(e.P, f.P) || !near(e.equivalenceP(0.05), f.equivalenceP(0.05)) {
			t.Fatalf("got a/b %+v and b/a %+v, want inverse ratios and equal p", e, f)
		}
	})
}

func TestLinearDriftCancels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks, subjects := rapid.IntRange(2, 8).Draw(t, "blocks"), rapid.IntRange(2, 6).Draw(t, "subjects")
		slopes := rapid.SliceOfN(rapid.Float64Range(-0.2, 0.2), blocks, blocks).Draw(t, "slopes")
		levels := rapid.SliceOfN(rapid.Float64Range(-3, 3), blocks, blocks).Draw(t, "levels")
		effect := rapid.Float64Range(-1, 1).Draw(t, "effect")
		trials := mirrored(blocks, subjects, func(b, p, s int) float64 {
			log := levels[b] + slopes[b]*float64(p)
			if s == 0 {
				log += effect
			}
			return math.Exp(log)
		})
		for s := 1; s < subjects; s++ {
			e := PairedRatio(trials[0], trials[s])
			if !near(e.Ratio, math.Exp(effect)) || e.High-e.Low > 1e-9 {
				t.Fatalf("subject %d: got %+v, want a ratio of %v without drift", s, e, math.Exp(effect))
			}
		}
	})
}

func TestIncompleteBlocksAreDropped(t *testing.T) {
	whole := func() [][]Trial {
		return mirrored(8, 2, func(b, _, s int) float64 { return 1 + float64(s) + 0.01*float64(b*(s+1)%5) })
	}
	for _, c := range []struct {
		name  string
		spoil func(a []Trial) []Trial
	}{
		{"both trials rejected", func(a []Trial) []Trial { return a[2:] }},
		{"one of its trials rejected", func(a []Trial) []Trial { return a[1:] }},
		{"a value of 0", func(a []Trial) []Trial { a[0].Value = 0; return a }},
		{"a value under 0", func(a []Trial) []Trial { a[0].Value = -1; return a }},
		{"no number", func(a []Trial) []Trial { a[1].Value = math.NaN(); return a }},
		{"infinity", func(a []Trial) []Trial { a[1].Value = math.Inf(1); return a }},
	} {
		pair := whole()
		got := PairedRatio(c.spoil(pair[0]), pair[1])
		pair = whole()
		want := PairedRatio(pair[0][2:], pair[1][2:])
		if got.Blocks != 7 || got.Dropped != 1 || got.Ratio != want.Ratio || got.Low != want.Low || got.High != want.High {
			t.Errorf("%s: got %+v, want the estimate of the other 7 blocks, %+v", c.name, got, want)
		}
	}
}

func TestTooFewBlocksGiveAWarning(t *testing.T) {
	for _, c := range []struct {
		blocks  int
		warning string
	}{
		{0, "no trials to compare"},
		{1, "one block gives no interval"},
		{2, "2 blocks: the interval assumes normal noise; 5 are needed"},
		{4, "4 blocks: the interval assumes normal noise; 5 are needed"},
		{5, "5 blocks may miss a cost that occurs in one trial of ten: 14 are needed"},
		{13, "13 blocks may miss"},
		{14, ""},
	} {
		pair := mirrored(c.blocks, 2, func(b, p, s int) float64 { return float64(1 + b + p + s) })
		e := PairedRatio(pair[0], pair[1])
		if e.Blocks != c.blocks || !strings.HasPrefix(e.Warning, c.warning) || (c.warning == "") != (e.Warning == "") {
			t.Errorf("%d blocks: warning %q, want %q", c.blocks, e.Warning, c.warning)
		}
		if c.blocks < 2 && (e.Low != 0 || e.High != 0 || e.P != 1) {
			t.Errorf("%d blocks: got %+v, want no interval and a p of 1", c.blocks, e)
		}
	}
	pair := mirrored(3, 2, func(b, p, s int) float64 { return 1 })
	if e := PairedRatio(pair[0][:1], pair[1]); !strings.HasPrefix(e.Warning, "in none of 3 blocks") {
		t.Errorf("no complete block: got warning %q, want one that says so", e.Warning)
	}
}

func scale(trials []Trial, k float64) []Trial {
	scaled := make([]Trial, len(trials))
	for i, t := range trials {
		t.Value *= k
		scaled[i] = t
	}
	return scaled
}
