package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// mostWindows is the longest warm-up in windows (5 s). The lab calls FindSteadyStart after each
// window and then measures even a subject that is not steady.
const mostWindows = 100

// A decay returns the level in window i of a subject that converges to 1.
type decay func(i int) float64

func exponential(excess, constant float64) decay {
	return func(i int) float64 { return 1 + excess*math.Exp(-float64(i)/constant) }
}

func linear(excess, windows float64) decay {
	return func(i int) float64 { return 1 + excess*max(0, 1-float64(i)/windows) }
}

func steadyLevel(int) float64 { return 1 }

// noiseOf is the noise of windows: its standard deviation as a share of the level, and its
// autocorrelation at lag 1.
type noiseOf struct{ share, correlation float64 }

// warmed simulates a warm-up. It returns its length in windows and whether it was called steady.
func warmed(r *rand.Rand, level decay, noise noiseOf) (windows int, steady bool) {
	var v []float64
	x := r.NormFloat64()
	for i := range mostWindows {
		v = append(v, max(0, level(i)*(1+noise.share*x)))
		x = noise.correlation*x + math.Sqrt(1-noise.correlation*noise.correlation)*r.NormFloat64()
		if len(v) < minSteadyWindows {
			continue
		}
		if _, ok := FindSteadyStart(v); ok {
			return len(v), true
		}
	}
	return len(v), false
}

// measuredAt returns the mean level in the second after a warm-up.
func measuredAt(level decay, windows int) float64 {
	sum := 0.0
	for i := range measured {
		sum += level(windows + i)
	}
	return sum / measured
}

// warmUps summarizes simulated warm-ups of one kind.
type warmUps struct {
	median   int     // windows
	unsteady float64 // percent
	// mean excess of the steady ones over the final level, in percent
	high float64
}

func simulateWarmUps(runs int, level decay, noise noiseOf) warmUps {
	r := rand.New(rand.NewPCG(7, 8))
	var unsteady rate
	var ended []int
	high, steady := 0.0, 0
	for range runs {
		n, ok := warmed(r, level, noise)
		ended = append(ended, n)
		unsteady.count(!ok)
		if ok {
			high += 100 * (measuredAt(level, n) - 1)
			steady++
		}
	}
	slices.Sort(ended)
	return warmUps{ended[runs/2], unsteady.percent(), high / float64(max(steady, 1))}
}

func TestAStationarySubjectIsSoonCalledSteady(t *testing.T) {
	for _, c := range []struct {
		noise  noiseOf
		median int
	}{
		{noiseOf{0, 0}, 5}, {noiseOf{0.01, 0}, 20}, {noiseOf{0.02, 0}, 30}, {noiseOf{0.05, 0}, 30}, {noiseOf{0.1, 0}, 30}, {noiseOf{0.2, 0}, 30},
		{noiseOf{0.02, 0.5}, 35}, {noiseOf{0.05, 0.5}, 35}, {noiseOf{0.1, 0.5}, 35}, {noiseOf{0.2, 0.5}, 35}, {noiseOf{0.3, 0.7}, 40},
	} {
		got := simulateWarmUps(300, steadyLevel, c.noise)
		what := fmt.Sprintf("noise of %v %%, correlation %v", 100*c.noise.share, c.noise.correlation)
		t.Logf("%s: median %d windows, unsteady %.1f %%", what, got.median, got.unsteady)
		if got.median > c.median || got.unsteady > 5 {
			t.Errorf("%s: the median warm-up takes %d windows and %.1f %% are called unsteady, want at most %d and 5 %%",
				what, got.median, got.unsteady, c.median)
		}
	}
}

func TestWarmUpLastsUntilADecayIsOver(t *testing.T) {
	for _, c := range []struct {
		excess, constant float64
		noise            []float64
		high             float64 // percent, at most
	}{
		{0.12, 5, []float64{0.02, 0.05, 0.1, 0.2}, 1},
		{0.12, 10, []float64{0.02, 0.05, 0.1, 0.2}, 1},
		{0.12, 20, []float64{0.02, 0.05, 0.1, 0.2}, 2},
		{0.12, 40, []float64{0.01, 0.02}, 2.5},
		{0.12, 40, []float64{0.05, 0.1, 0.2}, 5}, // hidden by the noise of the trials
		{1, 5, []float64{0.05, 0.2}, 1},
		{1, 20, []float64{0.05, 0.1}, 3},
	} {
		for _, noise := range c.noise {
			got := simulateWarmUps(100, exponential(c.excess, c.constant), noiseOf{noise, 0})
			what := fmt.Sprintf("%v %% high at first, time constant of %v windows, noise of %v %%", 100*c.excess, c.constant, 100*noise)
			t.Logf("%s: median %d windows, measured %.1f %% high, unsteady %.1f %%", what, got.median, got.high, got.unsteady)
			if got.high > c.high {
				t.Errorf("%s: measured %.1f %% high, want at most %v %%", what, got.high, c.high)
			}
		}
	}
}

func TestWarmUpLastsUntilAFallOrAStepIsOver(t *testing.T) {
	for _, c := range []struct {
		name  string
		level decay
	}{
		{"falls by 12 % in half a second", linear(0.12, 10)},
		{"falls by 12 % in a second", linear(0.12, 20)},
		{"halves at once after half a second", func(i int) float64 { return 1 + max(0, math.Copysign(1, 9.5-float64(i))) }},
	} {
		for _, noise := range []float64{0.01, 0.02, 0.05, 0.1} {
			got := simulateWarmUps(100, c.level, noiseOf{noise, 0})
			t.Logf("%s, noise of %v %%: median %d windows, measured %.1f %% high, unsteady %.1f %%", c.name, 100*noise, got.median, got.high, got.unsteady)
			if got.high > 1 || got.unsteady > 5 {
				t.Errorf("%s, noise of %v %%: measured %.1f %% high and %.1f %% called unsteady, want at most 1 and 5 %%", c.name, 100*noise, got.high, got.unsteady)
			}
		}
	}
}

func TestALevelThatKeepsChangingIsCalledUnsteady(t *testing.T) {
	for name, level := range map[string]decay{
		"grows by 1.3 % a window": func(i int) float64 { return math.Pow(1.013, float64(i)) },
		"halves in 5 s":           linear(1, 100),
	} {
		for _, noise := range []float64{0, 0.02, 0.05} {
			if got := simulateWarmUps(50, level, noiseOf{noise, 0}); got.unsteady < 95 {
				t.Errorf("%s, noise of %v %%: %.1f %% called unsteady, want 95 %% or more", name, 100*noise, got.unsteady)
			}
		}
	}
}
