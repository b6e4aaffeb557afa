package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The lab asks again with every window. It gives up after five times the five windows that are the least where the
// noise hides any change, and after ten times where a change is seen.
const (
	leastWindows   = 5
	unclearWindows = 5 * leastWindows
	mostWindows    = 10 * leastWindows
)

// A decay is the level in window i of a subject that settles at 1.
type decay func(i int) float64

func exponential(excess, constant float64) decay {
	return func(i int) float64 { return 1 + excess*math.Exp(-float64(i)/constant) }
}

func linear(excess, windows float64) decay {
	return func(i int) float64 { return 1 + excess*max(0, 1-float64(i)/windows) }
}

// warmed is the window with which a warm-up ends, and whether it was called steady.
func warmed(r *rand.Rand, level decay, noise float64) (windows int, steady bool) {
	var v []float64
	for i := range mostWindows {
		v = append(v, level(i)*(1+noise*r.NormFloat64()))
		if len(v) < leastWindows {
			continue
		}
		if _, now := Steady(v); now == Settled || now == Unclear && len(v) >= unclearWindows {
			return len(v), now == Settled
		}
	}
	return len(v), false
}

// measuredAt is the mean level of the second after a warm-up.
func measuredAt(level decay, windows int) float64 {
	sum := 0.0
	for i := range 20 {
		sum += level(windows + i)
	}
	return sum / 20
}

func TestASlowDecayIsNotCalledSteadyWhereItIsMeasuredHigh(t *testing.T) {
	const runs = 40
	for _, excess := range []float64{0.12, 0.3, 1} {
		for _, length := range []float64{5, 10, 20, 40} {
			for name, level := range map[string]decay{"exponential": exponential(excess, length), "linear": linear(excess, length)} {
				for _, noise := range []float64{0, 0.01, 0.02, 0.05} {
					r := rand.New(rand.NewPCG(7, uint64(length)))
					var high, steady rate
					sum := 0
					for range runs {
						n, ok := warmed(r, level, noise)
						sum += n
						steady.count(ok)
						high.count(ok && measuredAt(level, n) > 1.06)
					}
					what := fmt.Sprintf("%s, %v %% high at first, %v windows, noise of %v %%", name, 100*excess, length, 100*noise)
					t.Logf("%s: ended after %d windows, steady %.0f %%, steady and measured high %.0f %%", what, sum/runs, steady.percent(), high.percent())
					if high.percent() > 5 {
						t.Errorf("%s: called steady and measured more than 6 %% high in %.0f %% of runs", what, high.percent())
					}
				}
			}
		}
	}
}

func TestASteadySubjectIsSoonCalledSteady(t *testing.T) {
	for _, c := range []struct {
		noise   float64
		windows int     // on average, at most
		steady  float64 // percent of runs, at least: the others go on to the limit, and say so
	}{
		{0, 5, 100}, {0.01, 15, 95}, {0.02, 24, 60}, {0.05, 26, 0}, {0.1, 26, 0},
	} {
		r := rand.New(rand.NewPCG(8, 8))
		var steady rate
		sum := 0
		for range 500 {
			n, ok := warmed(r, linear(0, 1), c.noise)
			sum += n
			steady.count(ok)
		}
		t.Logf("noise of %v %%: ended after %d windows, steady %.0f %%", 100*c.noise, sum/500, steady.percent())
		if sum/500 > c.windows || steady.percent() < c.steady {
			t.Errorf("noise of %v %%: ended after %d windows, steady in %.0f %%; want at most %d, and %v %%", 100*c.noise, sum/500, steady.percent(), c.windows, c.steady)
		}
	}
}
