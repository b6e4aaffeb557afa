package stat

import (
	"math"
	"slices"
)

const (
	// steadyTail is the number of windows without a change that count as steady.
	steadyTail = 5
	// changeGain is how many times the noise variance and the logarithm of the number of windows a step must
	// explain. In noise without a step it sees one in 8 % of series of 10 windows, 5 % of 20, 2 % of 40.
	changeGain = 4
	// changeShare is the smallest step that matters, as a share of the level after it.
	changeShare = 0.03
)

// Steady finds where a warm-up ended: values are CPU per message (any unit, not negative) in equal
// windows since the start. It cuts the series at its clearest step, then what is left at its clearest
// step, and so on until no step stands out of the noise; from is where the last piece begins. It is ok
// when that piece has at least five windows; before that, go on and ask again with more.
//
// Steps, rather than a fixed time, because compilers at work and filling caches show as falling levels
// (Barrett et al. 2017, "Virtual Machine Warmup Blows Hot and Cold"). A slope is cut as a stair. A server
// that never settles is never ok: the caller needs a limit of its own.
func Steady(values []float64) (from int, ok bool) {
	for {
		k := clearestStep(values[from:])
		if k == 0 {
			return from, len(values)-from >= steadyTail
		}
		from += k
	}
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
