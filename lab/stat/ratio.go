package stat

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Confidence is the share of the intervals that hold the true ratio, and one minus the level of the
// tests.
const Confidence = 0.95

// A Trial is one accepted trial of one subject: the place where it stood and what was measured
// there.
type Trial struct {
	Block    int
	Position int     // within the block
	Value    float64 // any unit, over 0: ratios are made of logarithms
}

// An Estimate is what a set of blocks says about the ratio of two subjects.
//
// Below two blocks there is no interval: Low and High are 0 and P is 1. With no block at all Ratio
// is 0 too.
type Estimate struct {
	Ratio float64 // of the geometric means, first / second
	// interval of Confidence, not corrected for other comparisons; Judge corrects it
	Low, High float64
	P         float64 // two-sided, of a ratio of 1, not corrected
	Blocks    int     // that count: both subjects have both their trials
	Dropped   int     // that do not, though either subject has a trial in them
	Warning   string  // what a reader must know before believing the rest; else empty

	// of the logarithm of the ratio; its standard error; degrees of freedom, 0 without an interval
	mean, err, df float64
}

// Ratio compares two subjects whose trials ran in the same palindromic blocks. A block counts when
// each subject has exactly two trials with values over 0 in it; any other block drops out of the
// comparison.
//
// It is the paired t of the blocks' mean logarithms: every block weighs the same. A weight that is
// made of a subject's own trials is biased where the subject is skewed: one that was dearer in one
// of its two trials of a block looks like a block in which the machine's speed jumped.
func Ratio(a, b []Trial) Estimate {
	diffs, dropped := differences(a, b)
	e := fromDifferences(diffs)
	e.Dropped = dropped
	e.Warning = warnBlocks(e)
	return e
}

// differences is what each block that counts says about two subjects: the difference of their mean
// logarithms, free of any drift that is a straight line over the block. The blocks are in their
// order.
func differences(a, b []Trial) (diffs []float64, dropped int) {
	as, bs := byBlock(a), byBlock(b)
	for _, number := range union(as, bs) {
		am, aok := mirror(as[number])
		bm, bok := mirror(bs[number])
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
func union[T any](a, b map[int]T) []int {
	numbers := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// mirror is the mean logarithm of a mirrored pair of trials. It is not ok for anything else: one
// half of a pair would bring the drift back in.
func mirror(pair []Trial) (mean float64, ok bool) {
	if len(pair) != 2 || !positive(pair[0].Value) || !positive(pair[1].Value) {
		return 0, false
	}
	return (math.Log(pair[0].Value) + math.Log(pair[1].Value)) / 2, true
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
	case e.Blocks < skewBlocks:
		return fmt.Sprintf("%d blocks may not show what is dear in one trial of ten: %d are needed for that", e.Blocks, skewBlocks)
	}
	return ""
}

const (
	// fewBlocks is the number of blocks under which an interval rests on the noise being normal.
	fewBlocks = 5
	// skewBlocks is the number of blocks from which the interval of a skewed subject holds the
	// truth in 92 of 100 cases. Of a subject that is 1.4 times dearer in a tenth of its trials it
	// does so in 84 of 100 with 5 blocks, and in 88 with 10.
	skewBlocks = 14
)

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
