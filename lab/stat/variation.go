package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// A Reading is the value of a monotonic counter at an instant. The caller chooses the units.
type Reading struct {
	At      float64 // time
	Counter float64
}

// CV returns the coefficient of variation: the sample standard deviation divided by the mean. It is
// NaN for fewer than two values and for a mean that is not over 0. For a few values it is biased:
// see PoolCV.
func CV(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	mean, sd := stat.MeanStdDev(values, nil)
	if !(mean > 0) {
		return math.NaN()
	}
	return sd / mean
}

// Windows returns the growth of the counter in consecutive windows of the given length, from the
// first reading on. An incomplete last window is left out. Between readings the counter is
// interpolated linearly, so length should be several times the sampling interval. Readings must be
// in order of At. A length of 0 or less gives no windows.
func Windows(readings []Reading, length float64) []float64 {
	if len(readings) < 2 || !(length > 0) {
		return nil
	}
	first, last := readings[0].At, readings[len(readings)-1].At
	// Samplers are not exact: a window that lacks up to a thousandth of its length still counts.
	n := int((last-first)/length + 0.001)
	var grown []float64
	i, before := 0, readings[0].Counter
	for k := 1; k <= n; k++ {
		at := min(first+float64(k)*length, last)
		for readings[i+1].At < at {
			i++
		}
		now := interpolate(readings[i], readings[i+1], at)
		grown = append(grown, now-before)
		before = now
	}
	return grown
}

// interpolate interpolates the counter linearly at a time between two readings.
func interpolate(a, b Reading, at float64) float64 {
	if b.At <= a.At {
		return b.Counter
	}
	return a.Counter + (b.Counter-a.Counter)*(at-a.At)/(b.At-a.At)
}

// Variation returns the coefficient of variation of the counter's growth over windows of the given
// length. It depends on that length: bursts of CPU average out in long windows.
func Variation(readings []Reading, length float64) float64 {
	return CV(Windows(readings, length))
}
