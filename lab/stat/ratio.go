package stat

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Confidence is the share of the intervals that hold the true ratio, and one minus the level of the tests.
const Confidence = 0.95

// A Trial is one accepted trial of one subject: the place where it stood and what was measured there.
type Trial struct {
	Block    int
	Position int     // within the block
	Value    float64 // any unit, over 0: ratios are made of logarithms
}

// An Estimate is what a set of blocks says about the ratio of two subjects.
//
// Below two blocks there is no interval: Low and High are 0 and P is 1. With no block at all Ratio is 0 too.
type Estimate struct {
	Ratio     float64 // of the geometric means, first / second
	Low, High float64 // interval of Confidence, not corrected for other comparisons
	P         float64 // two-sided, of a ratio of 1, not corrected
	Blocks    int     // that count: both subjects have both their trials
	Dropped   int     // that do not, though either subject has a trial in them
	Warning   string  // what a reader must know before believing the rest; else empty

	mean, err, df float64 // of the logarithm of the ratio; its standard error; degrees of freedom, 0 without an interval
}

// Ratio compares two subjects whose trials ran in the same palindromic blocks. A block counts when each
// subject has exactly two trials with values over 0 in it; any other block drops out of the comparison.
//
// Blocks in which the machine's speed jumped count for less: see weights.
func Ratio(a, b []Trial) Estimate {
	blocks, dropped := pairBlocks(a, b)
	diffs := make([]float64, len(blocks))
	for i, block := range blocks {
		diffs[i] = block.diff
	}
	e := fromDifferences(diffs, weights(blocks))
	e.Dropped = dropped
	e.Warning = warnBlocks(e)
	return e
}

// A pairBlock is what one block says about two subjects, in logarithms.
type pairBlock struct {
	diff   float64 // of the means: free of any drift that is a straight line
	unrest float64 // how much more the one changed from its first to its second trial than the other
}

// pairBlocks is the blocks that count, in their order.
func pairBlocks(a, b []Trial) (blocks []pairBlock, dropped int) {
	as, bs := byBlock(a), byBlock(b)
	for _, number := range union(as, bs) {
		am, ad, aok := mirror(as[number])
		bm, bd, bok := mirror(bs[number])
		if !aok || !bok {
			dropped++
			continue
		}
		blocks = append(blocks, pairBlock{am - bm, ad - bd})
	}
	return blocks, dropped
}

// weights gives each block its weight; they add up to 1.
//
// When the speed jumps by J between the trials of one subject and outside those of the other, the block's
// difference is wrong by J/2, up or down, and its unrest is J. So unrest/2 is taken as the size of an error
// that comes on top of the noise of a quiet block, and blocks are weighted by one over the sum of the two
// variances. Which subject is called a has no part in it: noise that favours neither still favours
// neither after weighting, and no block is ever dropped for what it says.
func weights(blocks []pairBlock) []float64 {
	w := make([]float64, len(blocks))
	jump := make([]float64, len(blocks))
	for i, b := range blocks {
		jump[i] = b.unrest * b.unrest / 4
	}
	quiet := max(quietShare*median(jump), leastVariance)
	sum := 0.0
	for i := range w {
		w[i] = 1 / (quiet + jump[i])
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

const (
	// quietShare times the median of what unrest adds is taken as the variance of a quiet block. Between 1 and 8
	// it hardly matters: in the simulations a larger share finds more where the machine is quiet and less
	// where its speed jumps, by a few percent.
	quietShare = 4
	// leastVariance keeps blocks without any unrest from weighing infinitely: 0.01 % of noise.
	leastVariance = 1e-8
)

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func byBlock(trials []Trial) map[int][]Trial {
	m := map[int][]Trial{}
	for _, t := range trials {
		m[t.Block] = append(m[t.Block], t)
	}
	return m
}

// union is the sorted numbers of the blocks of either subject.
func union[T any](a, b map[int]T) []int {
	numbers := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// mirror is the mean logarithm of a mirrored pair of trials, and the change from the first to the second.
// It is not ok for anything else: one half of a pair would bring the drift back in.
func mirror(pair []Trial) (mean, change float64, ok bool) {
	if len(pair) != 2 {
		return 0, 0, false
	}
	first, second := pair[0], pair[1]
	if first.Position > second.Position {
		first, second = second, first
	}
	if !positive(first.Value) || !positive(second.Value) {
		return 0, 0, false
	}
	f, s := math.Log(first.Value), math.Log(second.Value)
	return (f + s) / 2, s - f, true
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// warnBlocks says what to hold against an estimate for the number of its blocks.
func warnBlocks(e Estimate) string {
	switch {
	case e.Blocks == 0 && e.Dropped == 0:
		return "no trials to compare: run both in the same blocks"
	case e.Blocks == 0:
		return fmt.Sprintf("in none of %d blocks did both subjects have both their trials accepted: run more blocks on a quieter machine", e.Dropped)
	case e.Blocks == 1:
		return "one block gives no interval: at least 2 are needed, 5 to be trusted"
	case e.Blocks < fewBlocks:
		return fmt.Sprintf("%d blocks: the interval rests on the noise being normal, %d are needed to be trusted", e.Blocks, fewBlocks)
	case e.Dropped > e.Blocks:
		return fmt.Sprintf("%d of %d blocks dropped out: the rest may not be typical", e.Dropped, e.Blocks+e.Dropped)
	}
	return ""
}

// fewBlocks is the number of blocks under which an estimate carries a warning.
const fewBlocks = 5

// Mean is the geometric mean of the values over 0, and 0 when there is none.
func Mean(values []float64) float64 {
	var sum float64
	n := 0
	for _, v := range values {
		if v > 0 {
			sum += math.Log(v)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return math.Exp(sum / float64(n))
}
