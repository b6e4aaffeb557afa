package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	// minSteadyWindows is the least number of windows that can be called steady.
	minSteadyWindows = 5
	// changeGain is the factor by which a step must exceed the noise: the variance that it explains
	// is compared with the noise variance times the logarithm of the number of windows. In white
	// noise it finds a step in 8 % of series of 10 windows and in 1 % of longer ones.
	changeGain = 4
	// minStepShare is the smallest step that matters, as a share of the level after it.
	minStepShare = 0.03
	// noiseLag is the distance in windows at which autocorrelation has mostly vanished. Recorded
	// autocorrelations at lag 1 on shared machines are 0.2 to 0.7.
	noiseLag = 5
	// measured is the number of windows after the warm-up over which the excess is averaged: 1 s.
	measured = 20
	// maxExcessShare is the mean excess over the measured windows that is always accepted, as a
	// share of the level.
	maxExcessShare = 0.02
	// excessConfidence is the confidence level of the bound on the excess.
	excessConfidence = 0.9
)

// decayConstants are the time constants that are tested for, in windows of 50 ms: 0.25 to 2 s.
var decayConstants = [...]float64{5, 10, 20, 40}

// FindSteadyStart finds the end of a warm-up. values are CPU per message (any unit, not negative)
// in equal windows since the start. It cuts the series at its clearest step (change point), then
// cuts the rest, until no step exceeds the noise. from is the start of the last piece.
//
// A slow decay has no clear step. An exponential decay is therefore fitted to the last piece for
// each of decayConstants, and extrapolated over the next second. The piece is steady if the upper
// confidence bound of this excess is at most 2 % of the level, or at most the noise of one window.
// An excess below that noise is smaller than the variation between trials. With more windows the
// piece may become steady. In simulations a constant level takes 20 windows at 1 % noise, and 30 at
// other noise levels.
//
// Steps are used, not a fixed time, because just-in-time compilation and filling caches show as
// falling levels (Barrett et al. 2017, "Virtual Machine Warmup Blows Hot and Cold"). A series that
// keeps changing is never steady: the caller needs a limit of its own.
func FindSteadyStart(values []float64) (from int, steady bool) {
	for {
		k := clearestStep(values[from:])
		if k == 0 {
			return from, isSteady(values[from:])
		}
		from += k
	}
}

// isSteady reports whether v has no decay, of the time constants tested for, whose excess matters.
func isSteady(v []float64) bool {
	if len(v) < minSteadyWindows {
		return false
	}
	mean := stat.Mean(v, nil)
	t := quantile(excessConfidence, float64(len(v)-2))
	for _, constant := range decayConstants {
		left, deviation, noise := excess(v, mean, constant)
		if math.Abs(left)+t*deviation > max(maxExcessShare*mean, noise) {
			return false
		}
	}
	return true
}

// excess fits a decay with the given time constant by least squares. It returns the mean excess
// that remains in the measured windows after v, its standard error, and the noise of a window. The
// noise is inflated for autocorrelation, which leaves fewer independent windows.
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
		noise *= autocorrelationFactor(neighbours / squares)
	}
	share := math.Exp(-n/constant) * constant / measured * (1 - math.Exp(-measured/constant))
	return height * share, noise / math.Sqrt(xx) * share, noise
}

// autocorrelationFactor returns the factor by which the standard error of a mean grows with an
// autocorrelation of r at lag 1.
func autocorrelationFactor(r float64) float64 {
	r = min(max(r, 0), 0.8)
	return math.Sqrt((1 + r) / (1 - r))
}

// clearestStep returns the index of the change point that explains most variance, or 0 if none
// exceeds the noise.
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
		if gain > best && math.Abs(before-after) > minStepShare*math.Abs(after) {
			best, at = gain, k
		}
	}
	sd := noise(v)
	if best <= changeGain*math.Log(float64(n))*sd*sd {
		return 0
	}
	return at
}

// noise estimates the standard deviation of v around its level, without the steps, inflated for
// autocorrelation. With autocorrelation, neighbours differ less than windows noiseLag apart.
func noise(v []float64) float64 {
	near := deviationAt(v, 1)
	if len(v) < 3*noiseLag {
		return near
	}
	far := deviationAt(v, noiseLag)
	if far <= near {
		return near
	}
	return far * autocorrelationFactor(1-near*near/(far*far))
}

// deviationAt estimates the standard deviation of v from the median absolute difference of values
// lag apart. A few steps change a median little. For normal noise this median is 0.9539 standard
// deviations.
func deviationAt(v []float64, lag int) float64 {
	steps := make([]float64, len(v)-lag)
	for i := range steps {
		steps[i] = math.Abs(v[i+lag] - v[i])
	}
	slices.Sort(steps)
	return (steps[(len(steps)-1)/2] + steps[len(steps)/2]) / 2 / 0.9539
}
