package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestApartOfKnownNumbers(t *testing.T) {
	// Logarithms by block: 1, 2, 3 and 0, 0, 3, 3. Welch: difference 0.5, variances 1/3 and 3/4, df
	// 4.8980.
	one := func(b, _, _ int) float64 { return math.Exp(float64(b + 1)) }
	other := func(b, _, _ int) float64 { return math.Exp(float64(b / 2 * 3)) }
	e := UnpairedRatio(mirrored(3, 1, one)[0], mirrored(4, 1, other)[0])
	err := math.Sqrt(1.0/3 + 3.0/4)
	df := math.Pow(1.0/3+3.0/4, 2) / (1.0/9/2 + 9.0/16/3)
	if !near(e.logMean, 0.5) || !near(e.stdErr, err) || !near(e.df, df) || e.Blocks != 3 {
		t.Errorf("got mean %v, standard error %v, df %v, blocks %d; want 0.5, %v, %v, 3", e.logMean, e.stdErr, e.df, e.Blocks, err, df)
	}
}

func TestApartIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPair(t)
		e, f := UnpairedRatio(a, b), UnpairedRatio(b, a)
		if !near(e.Ratio, 1/f.Ratio) || !near(e.P, f.P) {
			t.Fatalf("got a/b %+v and b/a %+v, want inverse ratios and equal p", e, f)
		}
	})
}

func TestApartRelativeCancelsTheSpeedOfTheMachine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	run := func(speed, cost float64) [][]Trial {
		return mirrored(6, 2, func(b, p, s int) float64 {
			return speed * math.Exp(0.3*math.Sin(float64(b))+0.01*float64(p)) * (1 + float64(s)*(cost-1)) * (1 + 0.001*r.Float64())
		})
	}
	a, b := run(1, 1.2), run(2, 1)
	if e := UnpairedRelativeRatio(a[1], a[0], b[1], b[0]); math.Abs(e.Ratio/1.2-1) > 0.01 || e.High-e.Low > 0.02 {
		t.Errorf("got %+v, want 1.2, without the machine's speed and drift", e)
	}
	if e := UnpairedRatio(a[1], b[1]); e.Low < 0.2 && e.High > 2 {
		t.Errorf("got %+v, want about 0.6", e)
	}
}

func TestTooFewBlocksHaveNoInterval(t *testing.T) {
	a := mirrored(1, 1, func(_, _, _ int) float64 { return 2 })[0]
	if e := UnpairedRatio(a, a); e.Blocks != 1 || e.Ratio != 1 || e.P != 1 || e.Low != 0 || e.Warning == "" {
		t.Errorf("one block: got %+v, want a ratio without interval and a warning", e)
	}
	if e := UnpairedRatio(a, nil); e.Blocks != 0 || e.Ratio != 0 || e.P != 1 || e.Warning == "" {
		t.Errorf("no trials of b: got %+v, want no ratio and a warning", e)
	}
}
