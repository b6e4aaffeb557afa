package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	// steadyTail is the least number of windows that can count as steady.
	steadyTail = 5
	// changeGain is how many times the noise variance and the logarithm of the number of windows a
	// step must explain. In white noise it finds one in 8 % of series of 10 windows, 1 % of longer
	// ones.
	changeGain = 4
	// changeShare is the smallest step that matters, as a share of the level after it.
	changeShare = 0.03
	// noiseLag is the distance at which windows no longer resemble each other much. Recorded
	// correlations of neighbours on shared machines are 0.2 to 0.7.
	noiseLag = 5
	// measured is the number of windows after the warm-up over which the excess counts: 1 s.
	measured = 20
	// settledShare is the mean excess over the measured windows that is accepted in any case.
	settledShare = 0.02
	// settledChance is the confidence with which the excess is bounded.
	settledChance = 0.9
)

// decayConstants are the time constants that are ruled out, in windows of 50 ms: 0.25 to 2 s.
var decayConstants = [...]float64{5, 10, 20, 40}

// Steady finds where a warm-up ended: values are CPU per message (any unit, not negative) in equal
// windows since the start. It cuts the series at its clearest step, then the rest at its clearest
// step, and so on until no step stands out of the noise; from is the start of the last piece.
//
// That no step stands out is not enough: a slow decay has none. So an exponential decay is fitted
// to the last piece for each of decayConstants. The piece is settled when the excess that the fits
// leave for the next second, at the upper end of its confidence interval, is at most 2 % of the
// level, or at most the noise of one window: what is hidden by so much noise is smaller than the
// spread of the trials that are measured. A call with more windows may find it settled later. In
// the simulations a steady series takes 20 windows at noise of 1 %, and 30 at any other.
//
// Steps, rather than a fixed time, because compilers at work and filling caches show as falling
// levels (Barrett et al. 2017, "Virtual Machine Warmup Blows Hot and Cold"). A series that keeps
// changing is never settled: the caller needs a limit of its own.
func Steady(values []float64) (from int, settled bool) {
	for {
		k := clearestStep(values[from:])
		if k == 0 {
			return from, isSettled(values[from:])
		}
		from += k
	}
}

// isSettled reports whether no decay of decayConstants leaves v an excess that matters.
func isSettled(v []float64) bool {
	if len(v) < steadyTail {
		return false
	}
	mean := stat.Mean(v, nil)
	t := quantile(settledChance, float64(len(v)-2))
	for _, constant := range decayConstants {
		left, deviation, noise := excess(v, mean, constant)
		if math.Abs(left)+t*deviation > max(settledShare*mean, noise) {
			return false
		}
	}
	return true
}

// excess fits a decay with the given time constant by least squares. It returns the mean excess
// that the fit leaves for the measured windows after v, its standard deviation, and the noise of a
// window. The noise includes the correlation of neighbours: with it, fewer windows are independent.
func excess(v []float64, mean, constant float64) (left, deviation, noise float64) {
	n := float64(len(v))
	shape := make([]float64, len(v))
	for i := range shape {
		shape[i] = math.Exp(-float64(i) / constant)
	}
	center := stat.Mean(shape, nil)
	var xx, xy float64
	for i, x := range shape {
		xx += (x - center) * (x - center)
		xy += (x - center) * (v[i] - mean)
	}
	height := xy / xx
	var squares, neighbours, before float64
	for i, x := range shape {
		residual := v[i] - mean - height*(x-center)
		squares += residual * residual
		neighbours += residual * before
		before = residual
	}
	noise = math.Sqrt(squares / (n - 2))
	if squares > 0 {
		noise *= inflation(neighbours / squares)
	}
	share := math.Exp(-n/constant) * constant / measured * (1 - math.Exp(-measured/constant))
	return height * share, noise / math.Sqrt(xx) * share, noise
}

// inflation is the factor by which the error of a mean grows when neighbours correlate by r.
func inflation(r float64) float64 {
	r = min(max(r, 0), 0.8)
	return math.Sqrt((1 + r) / (1 - r))
}

// clearestStep is the index at which the level changes most convincingly, or 0 when none stands
// out.
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

// noise is the standard deviation of v around its level, steps left out, inflated by the
// correlation of neighbours: their differences are then smaller than those of windows noiseLag
// apart.
func noise(v []float64) float64 {
	near := deviationAt(v, 1)
	if len(v) < 3*noiseLag {
		return near
	}
	far := deviationAt(v, noiseLag)
	if far <= near {
		return near
	}
	return far * inflation(1-near*near/(far*far))
}

// deviationAt is the standard deviation of v from the median difference of values lag apart, which
// a few steps move little. (For normal noise the median absolute difference of two values is 0.9539
// standard deviations.)
func deviationAt(v []float64, lag int) float64 {
	steps := make([]float64, len(v)-lag)
	for i := range steps {
		steps[i] = math.Abs(v[i+lag] - v[i])
	}
	slices.Sort(steps)
	return (steps[(len(steps)-1)/2] + steps[len(steps)/2]) / 2 / 0.9539
}
