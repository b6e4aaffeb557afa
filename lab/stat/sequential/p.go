package sequential

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// leastP is the smallest p value that P distinguishes.
const leastP = 1e-5

// P returns the repeated p value of a ratio of 1 (Jennison and Turnbull 1989): the smallest
// two-sided level at which a test of the same plan had called the blocks so far Different. It holds
// for all looks together, and is never under leastP. Without a look it is 1.
func (t *Test) P() float64 {
	low, high := math.Log(leastP), 0.0
	if !t.differs(math.Exp(high)) {
		return 1
	}
	for range 20 {
		if mid := (low + high) / 2; t.differs(math.Exp(mid)) {
			high = mid
		} else {
			low = mid
		}
	}
	return math.Exp(high)
}

// differs reports whether the blocks so far cross a boundary of the given two-sided level.
func (t *Test) differs(level float64) bool {
	last := t.plan.Blocks
	if t.closed {
		last = max(len(t.logs), 1)
	}
	for i, width := range widths(lastLevels(level/2, t.plan.Blocks, FirstLook, last)) {
		if n := i + 1; n >= FirstLook && n <= len(t.logs) {
			sd := stat.StdDev(t.logs[:n], nil)
			if sd > noSpread && math.Abs(stat.Mean(t.logs[:n], nil)) > width*sd {
				return true
			}
		}
	}
	return false
}
