package sequential

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// leastP is the smallest p value that P distinguishes.
const leastP = 1e-5

// pSteps halvings find P to a third of a percent of it.
const pSteps = 12

// P returns the repeated p value of a ratio of 1 (Jennison and Turnbull 1989): the smallest
// two-sided level at which a test of the same plan had called the blocks so far Different. It holds
// for all looks together, and is never under leastP. Without a look it is 1.
func (t *Test) P() float64 {
	low, high := math.Log(leastP), 0.0
	if !t.differs(math.Exp(high)) {
		return 1
	}
	for range pSteps {
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
	blocks := len(t.logs)
	ends := t.closed || blocks == t.plan.Blocks
	for i, width := range widths(levelsUntil(level/2, t.plan.Blocks, FirstLook, blocks, ends))[:blocks] {
		of := t.logs[:i+1]
		if sd := stat.StdDev(of, nil); sd > noSpread && math.Abs(stat.Mean(of, nil)) > width*sd {
			return true
		}
	}
	return false
}
