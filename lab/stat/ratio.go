package stat

import (
	"fmt"
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

	mean, err, df float64 // of the logarithm of the ratio; its standard error; degrees of freedom
}

// Ratio compares two subjects whose trials ran in the same palindromic blocks. A block counts when each
// subject has exactly two trials with values over 0 in it; any other block drops out of the comparison.
func Ratio(a, b []Trial) Estimate {
	diffs, dropped := blockDifferences(a, b)
	e := fromDifferences(diffs)
	e.Dropped = dropped
	e.Warning = warnBlocks(e)
	return e
}

// blockDifferences is the logarithm of the ratio in each block that counts, in the order of the blocks.
func blockDifferences(a, b []Trial) (diffs []float64, dropped int) {
	as, bs := byBlock(a), byBlock(b)
	for _, block := range union(as, bs) {
		am, aok := logMean(as[block])
		bm, bok := logMean(bs[block])
		if !aok || !bok {
			dropped++
			continue
		}
		diffs = append(diffs, am-bm)
	}
	return diffs, dropped
}

func byBlock(trials []Trial) map[int][]Trial {
	m := map[int][]Trial{}
	for _, t := range trials {
		m[t.Block] = append(m[t.Block], t)
	}
	return m
}

// union is the sorted numbers of the blocks of either subject.
func union(a, b map[int][]Trial) []int {
	var blocks []int
	for k := range a {
		blocks = append(blocks, k)
	}
	for k := range b {
		blocks = append(blocks, k)
	}
	slices.Sort(blocks)
	return slices.Compact(blocks)
}

// logMean is the mean logarithm of a mirrored pair of trials. It is not ok for anything else: one half of
// a pair would bring the drift back in.
func logMean(pair []Trial) (mean float64, ok bool) {
	if len(pair) != 2 {
		return 0, false
	}
	for _, t := range pair {
		if !(t.Value > 0) || math.IsInf(t.Value, 1) {
			return 0, false
		}
		mean += math.Log(t.Value) / 2
	}
	return mean, true
}

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
