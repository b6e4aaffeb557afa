package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// A Reading is a counter that only grows, read at an instant. Units are the caller's.
type Reading struct {
	At      float64
	Counter float64
}

// CV is the coefficient of variation: the sample standard deviation over the mean. It is NaN for
// fewer than two values and for a mean that is not over 0: there is none. Of a few values it is a
// poor figure, see Pool.
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

// Windows is the growth of the counter in each of the whole windows of the given length, from the
// first reading on. Between readings the counter is taken to grow evenly, so length should be
// several times their distance. Readings are in order of At; a length of 0 or less gives none.
func Windows(readings []Reading, length float64) []float64 {
	if len(readings) < 2 || !(length > 0) {
		return nil
	}
	first, last := readings[0].At, readings[len(readings)-1].At
	// A window that misses its end by a thousandth still counts: samplers are not exact.
	n := int((last-first)/length + 0.001)
	var grown []float64
	i, before := 0, readings[0].Counter
	for k := 1; k <= n; k++ {
		at := min(first+float64(k)*length, last)
		for readings[i+1].At < at {
			i++
		}
		now := between(readings[i], readings[i+1], at)
		grown = append(grown, now-before)
		before = now
	}
	return grown
}

func between(a, b Reading, at float64) float64 {
	if b.At <= a.At {
		return b.Counter
	}
	return a.Counter + (b.Counter-a.Counter)*(at-a.At)/(b.At-a.At)
}

// Variation is the coefficient of variation of the counter's growth over windows of the given
// length. It depends on that length: CPU that comes in bursts looks steady through a long window.
func Variation(readings []Reading, length float64) float64 {
	return CV(Windows(readings, length))
}
