package sequential

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func plan() Plan { return Plan{Margin: 0.05, Confidence: 0.99, Blocks: 20} }

func newTest(t interface {
	Helper()
	Fatal(...any)
}, p Plan) *Test {
	t.Helper()
	test, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// decide returns the decision after all ratios, or after the first verdict.
func decide(t *testing.T, p Plan, ratios ...float64) Decision {
	t.Helper()
	test := newTest(t, p)
	var d Decision
	for _, r := range ratios {
		var err error
		if d, err = test.Add(r); err != nil {
			t.Fatal(err)
		}
		if d.Verdict != Undecided {
			break
		}
	}
	return d
}

// around returns blocks that alternate around a ratio.
func around(ratio, spread float64, blocks int) []float64 {
	ratios := make([]float64, blocks)
	for i := range ratios {
		ratios[i] = ratio * math.Pow(1+spread, float64(1-2*(i%2)))
	}
	return ratios
}

func TestVerdictsOnClearCases(t *testing.T) {
	for _, c := range []struct {
		name          string
		ratio, spread float64
		want          Verdict
	}{
		{"equal", 1, 0.01, NoWorse},
		{"better", 0.8, 0.01, NoWorse},
		{"worse, below the margin", 1.03, 0.01, NoWorse},
		{"worse, beyond the margin", 1.1, 0.01, Worse},
		{"twice the cost", 2, 0.3, Worse},
		{"equal, too noisy to tell", 1, 0.3, Undecided},
		{"beyond the margin, too noisy to tell", 1.06, 0.3, Undecided},
	} {
		d := decide(t, plan(), around(c.ratio, c.spread, 20)...)
		if d.Verdict != c.want {
			t.Errorf("%s: got %s after %d blocks (%v, %v to %v), want %s", c.name, d.Verdict, d.Blocks, d.Ratio, d.Low, d.High, c.want)
		}
	}
}

// TestADifferenceBelowTheMarginIsNotWorse has an interval above 1 that contains 1 + margin.
func TestADifferenceBelowTheMarginIsNotWorse(t *testing.T) {
	d := decide(t, plan(), around(1.04, 0.02, 20)...)
	if d.Low <= 1 || d.High < 1.05 || d.Verdict != Undecided {
		t.Errorf("got %+v, want it undecided with an interval above 1", d)
	}
}

func TestInvalidRatiosAreErrors(t *testing.T) {
	for _, ratio := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		test := newTest(t, plan())
		before, err := test.Add(1.1)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := test.Add(ratio); err == nil || after != before {
			t.Errorf("ratio %v: got %+v and error %v, want an error and the unchanged %+v", ratio, after, err, before)
		}
	}
}

func TestInvalidPlansAreErrors(t *testing.T) {
	for _, p := range []Plan{
		{},
		{Margin: 0, Confidence: 0.99, Blocks: 20},
		{Margin: -0.05, Confidence: 0.99, Blocks: 20},
		{Margin: math.NaN(), Confidence: 0.99, Blocks: 20},
		{Margin: math.Inf(1), Confidence: 0.99, Blocks: 20},
		{Margin: 0.05, Confidence: 0.5, Blocks: 20},
		{Margin: 0.05, Confidence: 1, Blocks: 20},
		{Margin: 0.05, Confidence: math.NaN(), Blocks: 20},
		{Margin: 0.05, Confidence: 0.99, Blocks: FirstLook - 1},
		{Margin: 0.05, Confidence: 0.99, Blocks: MaxBlocks + 1},
	} {
		if _, err := New(p); err == nil {
			t.Errorf("%+v: got no error, want one", p)
		}
	}
}

func TestAnEndedTestTakesNoMoreBlocks(t *testing.T) {
	for name, spread := range map[string]float64{"a verdict": 0.01, "the last block": 0.3} {
		test := newTest(t, plan())
		var last Decision
		for _, r := range around(1, spread, plan().Blocks) {
			var err error
			if last, err = test.Add(r); err != nil {
				t.Fatal(err)
			}
			if last.Verdict != Undecided {
				break
			}
		}
		if d, err := test.Add(1); !errors.Is(err, ErrEnded) || d != last {
			t.Errorf("after %s: got %+v and %v, want the unchanged %+v and %v", name, d, err, last, ErrEnded)
		}
	}
}

func TestFewBlocksAreUndecided(t *testing.T) {
	for n := 1; n < FirstLook; n++ {
		d := decide(t, Plan{Margin: 0.05, Confidence: 0.99, Blocks: FirstLook}, around(10, 0.001, n)...)
		if d.Verdict != Undecided || d.Low != 0 || !math.IsInf(d.High, 1) || d.Blocks != n {
			t.Errorf("%d blocks: got %+v, want it undecided without an interval", n, d)
		}
	}
	three := decide(t, Plan{Margin: 0.05, Confidence: 0.99, Blocks: FirstLook}, 2, 2.01, 2.02)
	if three.Verdict != Worse || three.Blocks != FirstLook {
		t.Errorf("three blocks that are all twice as expensive: got %+v, want worse", three)
	}
}

func TestBlocksWithoutSpreadAreUndecided(t *testing.T) {
	for _, ratio := range []float64{1, 1.1, 0.1, 1e300} {
		d := decide(t, plan(), around(ratio, 0, 20)...)
		if d.Verdict != Undecided || d.Low != 0 || !math.IsInf(d.High, 1) {
			t.Errorf("20 blocks of %v: got %+v, want it undecided without an interval", ratio, d)
		}
	}
}

func TestTiesAreBlocksLikeOthers(t *testing.T) {
	ratios := around(1.2, 0, 20)
	ratios[0] = 1.21
	if d := decide(t, plan(), ratios...); d.Verdict != Worse {
		t.Errorf("blocks of 1.2 and one of 1.21: got %+v, want worse", d)
	}
}

func drawRatios(t *rapid.T) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(0.5, 2), 1, 20).Draw(t, "ratios")
}

func TestVerdictsAgreeWithTheirInterval(t *testing.T) {
	like := newTest(t, plan())
	rapid.Check(t, func(t *rapid.T) {
		test := *like
		for i, r := range drawRatios(t) {
			d, err := test.Add(r)
			if err != nil {
				t.Fatal(err)
			}
			worse, noWorse := d.Low > 1 && d.Ratio > 1.05, d.High < 1.05
			if d.Blocks != i+1 || (d.Verdict == Worse) != worse || (d.Verdict == NoWorse) != noWorse || !(d.Low <= d.Ratio && d.Ratio <= d.High) {
				t.Fatalf("block %d: got %+v, want the verdict of its interval", i+1, d)
			}
			if d.Verdict != Undecided {
				return
			}
		}
	})
}

// TestTheInverseHasTheInverseInterval also shows that the unit of the interval is the logarithm.
func TestTheInverseHasTheInverseInterval(t *testing.T) {
	like := newTest(t, plan())
	rapid.Check(t, func(t *rapid.T) {
		one, other := *like, *like
		for _, r := range drawRatios(t) {
			d, err := one.Add(r)
			e, otherErr := other.Add(1 / r)
			if errors.Is(err, ErrEnded) || errors.Is(otherErr, ErrEnded) {
				return
			}
			if d.Low > 0 && (math.Abs(d.Low*e.High-1) > 1e-9 || math.Abs(d.High*e.Low-1) > 1e-9) {
				t.Fatalf("got %+v and for the inverse ratios %+v, want inverse limits", d, e)
			}
		}
	})
}
