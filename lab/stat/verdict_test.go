package stat

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/lab/result"
)

func TestHolmOfKnownNumbers(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} { // Holm 1979
		if !near(got[i], want) {
			t.Errorf("got corrected p %v at %d, want %v", got[i], i, want)
		}
	}
	if len(Holm(nil)) != 0 {
		t.Error("got p values of an empty family, want none")
	}
}

func TestHolmKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		c := Holm(p)
		for i := range p {
			if c[i] < p[i] || c[i] > 1 || c[i] > float64(len(p))*p[i] {
				t.Fatalf("got corrected p %v for p %v in a family of %d, want at least p, and at most 1 and p times the family", c[i], p[i], len(p))
			}
			for j := range p {
				if p[i] < p[j] && c[i] > c[j] {
					t.Fatalf("got corrected p %v > %v for p %v < %v, want the same order", c[i], c[j], p[i], p[j])
				}
			}
		}
	})
}

func TestHolmNeverGainsFromMoreComparisons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		more := append(slices.Clone(p), rapid.Float64Range(0, 1).Draw(t, "one more"))
		small, large := Holm(p), Holm(more)
		for i := range p {
			if large[i] < small[i] {
				t.Fatalf("p %v: got a corrected p of %v with one more comparison, want at least %v", p[i], large[i], small[i])
			}
		}
	})
}

// exact estimates a ratio from block differences that alternate at a distance of sd around it.
func exact(ratio, sd float64, blocks int) Estimate {
	diffs := make([]float64, blocks)
	for i := range diffs {
		diffs[i] = math.Log(ratio) + sd*float64(1-2*(i%2))
	}
	return pairedEstimate(diffs)
}

func TestVerdictsFollowTheInterval(t *testing.T) {
	for _, c := range []struct {
		name    string
		e       Estimate
		word    string
		warning string
	}{
		{"far apart", exact(1.5, 0.05, 10), result.Different, ""},
		{"the same and quiet", exact(1.001, 0.01, 10), result.Equivalent, ""},
		{"a tenth apart and noisy", exact(1.1, 0.3, 10), result.Undecided, "10 blocks are too few for this noise"},
		{"extreme noise", exact(1.1, 10, 10), result.Undecided, "too noisy to detect"},
		{"between equal and the margin", exact(1.0277, 0.0735, 30), result.Undecided, "close to the equivalence margin"},
		{"surely apart, within the margin", exact(1.02, 0.005, 10), result.Different, "different, but by less than the equivalence margin of 5 %"},
		{"one block", exact(2, 0.05, 1), result.Undecided, ""},
		{"no block", exact(2, 0.05, 0), result.Undecided, ""},
		{"no noise, no difference", exact(1, 0, 5), result.Equivalent, ""},
		{"no noise, a difference", exact(1.2, 0, 5), result.Different, ""},
	} {
		v := Judge([]Estimate{c.e}, 0.05)[0]
		if v.Word != c.word || !strings.HasPrefix(v.Warning, c.warning) || (c.warning == "") != (v.Warning == "") {
			t.Errorf("%s: got %s (%q), want %s (%q); estimate %+v", c.name, v.Word, v.Warning, c.word, c.warning, c.e)
		}
	}
}

func TestCorrectionOnlyWeakensAVerdict(t *testing.T) {
	one := exact(1.1, 0.1, 8)
	if v := Judge([]Estimate{one}, 0.05)[0]; v.Word != result.Different {
		t.Fatalf("alone: got %s with p %v, want different", v.Word, v.P)
	}
	family := slices.Repeat([]Estimate{one}, 30)
	if v := Judge(family, 0.05)[0]; v.Word != result.Undecided {
		t.Errorf("in a family of 30: got %s with p %v, want undecided", v.Word, v.P)
	}
}

// TestTheIntervalOfAVerdictAgreesWithItsWord checks that the interval excludes 1 for "different",
// lies within the margin for "equivalent", and does neither for "undecided".
func TestTheIntervalOfAVerdictAgreesWithItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) Estimate {
			return exact(rapid.Float64Range(0.8, 1.25).Draw(t, "ratio"), rapid.Float64Range(0.001, 0.2).Draw(t, "noise"), rapid.IntRange(1, 20).Draw(t, "blocks"))
		})
		const margin = 0.05
		for i, v := range Judge(rapid.SliceOfN(one, 1, 30).Draw(t, "family"), margin) {
			different := v.Low > 1 || v.High < 1
			within := v.Low > 1/(1+margin) && v.High < 1+margin
			switch {
			case v.High == 0 && v.Word == result.Undecided: // one block
			case v.Word == result.Different && !different:
				t.Fatalf("comparison %d is different, but its interval %v to %v contains 1, want it outside", i, v.Low, v.High)
			case v.Word == result.Equivalent && !within:
				t.Fatalf("comparison %d is equivalent within %v, but its interval is %v to %v, want it within", i, margin, v.Low, v.High)
			case v.Word == result.Undecided && (different || within):
				t.Fatalf("comparison %d is undecided, but its interval %v to %v decides it, want the word that it decides", i, v.Low, v.High)
			}
		}
	})
}

func TestAVerdictAloneHasTheOrdinaryInterval(t *testing.T) {
	e := exact(1.5, 0.05, 10)
	if v := Judge([]Estimate{e}, 0.05)[0]; !near(v.Low, e.Low) || !near(v.High, e.High) {
		t.Errorf("one comparison: got the interval %v to %v, want %v to %v", v.Low, v.High, e.Low, e.High)
	}
}

func TestBlocksNeededMatchTheTextbook(t *testing.T) {
	// A textbook case: a difference of one standard deviation, alone, power 90 %, takes 13 pairs
	// (Cohen 1988: 12.6).
	if n := BlocksNeeded(math.Log(1.1), 0.1, 1); n < 12 || n > 14 {
		t.Errorf("got %d blocks for a difference as large as the noise, want about 13", n)
	}
	if n := BlocksNeeded(0, 0.1, 1); n > 3 {
		t.Errorf("got %d blocks without noise, want 2 or 3", n)
	}
	if few, many := BlocksNeeded(0.1, 0.1, 1), BlocksNeeded(0.1, 0.1, 20); few >= many {
		t.Errorf("got %d blocks alone and %d in a family of 20, want more in the family", few, many)
	}
}
