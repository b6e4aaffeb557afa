package stat

import (
	"gonum.org/v1/gonum/stat"
)

// UnpairedRatio compares trials of two runs that were not interleaved, by Welch's t test on the
// block means of each. The interval covers only the variance between the blocks of a run. A change
// of the machine between the runs is part of the ratio, and no computation can remove it.
func UnpairedRatio(a, b []Trial) Estimate {
	am, adropped := blockMeans(a)
	bm, bdropped := blockMeans(b)
	e := Estimate{Blocks: min(len(am), len(bm)), Dropped: adropped + bdropped, P: 1}
	if e.Blocks > 0 {
		e = welch(e, am, bm)
	}
	e.Warning = warnBlocks(e)
	return e
}

// UnpairedRelativeRatio is UnpairedRatio on the trials of two runs (a and b), each divided by those
// of a reference subject in the same block. A change of the machine's speed that affects both alike
// cancels.
func UnpairedRelativeRatio(a, aReference, b, bReference []Trial) Estimate {
	am, adropped := pairedDifferences(a, aReference)
	bm, bdropped := pairedDifferences(b, bReference)
	e := Estimate{Blocks: min(len(am), len(bm)), Dropped: adropped + bdropped, P: 1}
	if e.Blocks > 0 {
		e = welch(e, am, bm)
	}
	e.Warning = warnBlocks(e)
	return e
}

// blockMeans returns the mean logarithm of each block with a pair of trials. dropped counts the
// others.
func blockMeans(trials []Trial) (means []float64, dropped int) {
	blocks := byBlock(trials)
	for _, block := range union(blocks, nil) {
		if m, ok := pairMean(blocks[block]); ok {
			means = append(means, m)
		} else {
			dropped++
		}
	}
	return means, dropped
}

// welch completes e by Welch's t test: a and b are the logarithms of two runs' blocks.
func welch(e Estimate, a, b []float64) Estimate {
	am, bm := stat.Mean(a, nil), stat.Mean(b, nil)
	if e.Blocks == 1 {
		e.logMean, e.Ratio = am-bm, exp(am-bm)
		return e
	}
	err, df := welchError(stat.Variance(a, nil), stat.Variance(b, nil), float64(len(a)), float64(len(b)))
	return tEstimate(e, am-bm, err, df)
}
