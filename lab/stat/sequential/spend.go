package sequential

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	step  = 0.1 // of the grid of sums, in standard deviations of a block
	reach = 8   // standard deviations of a sum at which its density is cut off
	// negligible is a level that is not worth a look: it is added to that of the next look.
	negligible = 1e-9
)

// spent returns the part of alpha that may be spent at a fraction of the planned blocks: the
// O'Brien-Fleming-like function of Lan and DeMets (1983).
func spent(alpha, fraction float64) float64 {
	return 2 * distuv.UnitNormal.Survival(-distuv.UnitNormal.Quantile(alpha/2)/math.Sqrt(fraction))
}

// levels returns the one-sided significance level of the look after each block, or 0 where there is
// no look: before the first one, and where the level would be negligible.
//
// For sums of independent normal blocks it integrates the density of the paths that have crossed no
// boundary yet (Armitage, McPherson and Rowe 1969). Each boundary is placed where the probability
// of crossing it first is what the spending function adds. Crossing it on the other side does not
// end a path, so each limit has its level whatever the other one decides.
func levels(alpha float64, blocks, first int) []float64 {
	return levelsUntil(alpha, blocks, first, blocks, true)
}

// levelsUntil returns the levels of the first blocks only. If the test ends with the last of them,
// that look spends the rest of alpha.
func levelsUntil(alpha float64, blocks, first, last int, ends bool) []float64 {
	levels := make([]float64, blocks)
	edge := int(reach * math.Sqrt(float64(blocks)) / step)
	density := make([]float64, 2*edge+1) // of the sum (i-edge)*step
	density[edge] = 1 / step
	used := 0.0
	for n := 1; n <= last; n++ {
		density = addBlock(density)
		add := spent(alpha, float64(n)/float64(blocks)) - used
		if n == last && ends {
			add = alpha - used
		}
		if n < first || add < negligible {
			continue
		}
		boundary := cut(density, add) - float64(edge)*step
		levels[n-1] = distuv.UnitNormal.Survival(boundary / math.Sqrt(float64(n)))
		used += add
	}
	return levels
}

// blockDensity is the density of one block at multiples of step, scaled to a sum of about 1.
var blockDensity = func() []float64 {
	d := make([]float64, 2*int(reach/step)+1)
	for i := range d {
		d[i] = step * distuv.UnitNormal.Prob(float64(i-len(d)/2)*step)
	}
	return d
}()

// addBlock returns the density of the sum with one more block.
func addBlock(density []float64) []float64 {
	next := make([]float64, len(density))
	for i, p := range density {
		from := i - len(blockDensity)/2
		for j := max(0, -from); p > 0 && j < len(blockDensity) && from+j < len(next); j++ {
			next[from+j] += p * blockDensity[j]
		}
	}
	return next
}

// cut removes the upper tail of the given probability from the density. It returns where the tail
// starts, as a distance from the start of the grid.
func cut(density []float64, probability float64) float64 {
	left := probability / step
	for i := len(density) - 1; i >= 0; i-- {
		if density[i] >= left {
			part := left / density[i]
			density[i] -= left
			return (float64(i) + 0.5 - part) * step
		}
		left -= density[i]
		density[i] = 0
	}
	return 0
}
