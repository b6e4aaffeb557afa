package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	// steadyTail is the number of windows without a change that count as steady.
	steadyTail = 5
	// changeGain is how many times the noise variance and the logarithm of the number of windows a step must
	// explain. In noise without a step it sees one in 8 % of series of 10 windows, 5 % of 20, 2 % of 40.
	changeGain = 4
	// changeShare is the smallest step that matters, as a share of the level after it.
	changeShare = 0.03
	// settledShare is how much the level may still change over horizon windows where it counts as settled.
	settledShare = 0.05
	// horizon is 2 s of the lab's windows. A decay towards a level is above it by at most its slope times its time
	// constant, so that one with a time constant up to horizon is called settled within settledShare of its level.
	horizon = 40
	// settledChance is the confidence with which the slope is bounded.
	settledChance = 0.9
)

// A Settling is what is known of the level of a series.
type Settling int

const (
	Changing Settling = iota // it changes, or there are too few values to say
	Unclear                  // no change is seen, and the noise would hide one
	Settled                  // it will change by little
)

// Steady finds where a warm-up ended: values are CPU per message (any unit, not negative) in equal
// windows since the start. It cuts the series at its clearest step, then what is left at its clearest
// step, and so on until no step stands out of the noise; from is where the last piece begins, and the Settling is that
// of this piece, once it has five windows. Before it is Settled, go on and ask again with more.
// In the simulations noise of 1 % takes 14 windows and of 2 % 22.
//
// Steps, rather than a fixed time, because compilers at work and filling caches show as falling levels
// (Barrett et al. 2017, "Virtual Machine Warmup Blows Hot and Cold"). A slope is cut as a stair. A server
// that never settles is never Settled: the caller needs a limit of its own.
func Steady(values []float64) (from int, now Settling) {
	for {
		k := clearestStep(values[from:])
		if k == 0 {
			return from, settling(values[from:])
		}
		from += k
	}
}

// settling says whether the values show that they change by little from here on. That no step stands out is not
// enough: in a few windows no slow decay does. So the slope must be known well enough to rule it out.
func settling(v []float64) Settling {
	n := float64(len(v))
	if n < steadyTail {
		return Changing
	}
	at := make([]float64, len(v))
	for i := range at {
		at[i] = float64(i)
	}
	start, slope := stat.LinearRegression(at, v, nil, false)
	var squares float64
	for i, x := range v {
		rest := x - start - slope*at[i]
		squares += rest * rest
	}
	deviation := math.Sqrt(squares / (n - 2) * 12 / (n * (n*n - 1)))
	unsure := quantile(settledChance, n-2) * deviation
	switch {
	case (math.Abs(slope)+unsure)*horizon <= settledShare*stat.Mean(v, nil):
		return Settled
	case math.Abs(slope) <= 2*unsure:
		return Unclear
	}
	return Changing
}

// clearestStep is the index at which the level changes most convincingly, or 0 when none stands out.
func clearestStep(v []float64) int {
	n := len(v)
	if n < 3 {
		return 0
	}
	var total, left, best float64
	for _, x := range v {
		total += x
	}
	at := 0
	for k := 1; k < n; k++ {
		left += v[k-1]
		before, after := left/float64(k), (total-left)/float64(n-k)
		gain := float64(k) * float64(n-k) / float64(n) * (before - after) * (before - after)
		if gain > best && math.Abs(before-after) > changeShare*math.Abs(after) {
			best, at = gain, k
		}
	}
	sd := noise(v)
	if best <= changeGain*math.Log(float64(n))*sd*sd {
		return 0
	}
	return at
}

// noise is the standard deviation of v around its level, steps left out: from the median step between
// neighbours, of which a few large ones move it little. (For normal noise the median absolute difference of two
// values is 0.9539 standard deviations.)
func noise(v []float64) float64 {
	steps := make([]float64, len(v)-1)
	for i := range steps {
		steps[i] = math.Abs(v[i+1] - v[i])
	}
	slices.Sort(steps)
	return (steps[(len(steps)-1)/2] + steps[len(steps)/2]) / 2 / 0.9539
}
