package stat

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A SampledTrial is one accepted trial of one subject: its block, and the readings of the subject's
// counter in the measured window.
type SampledTrial struct {
	Block    int
	Readings []Reading
}

// A PooledCV is the pooled coefficient of variation of a subject's counter over the windows of all
// its trials.
//
// Each window's deviation is taken from the mean of its own trial, so a machine that was faster in
// one trial than in another adds nothing. The squared deviations of all trials are summed and
// divided by their degrees of freedom, which are the number of windows of each trial minus one:
//
//	sigma/mu = sqrt( sum over trials of (n-1) CV^2 / sum over trials of (n-1) ) / c4
//	c4       = sqrt(2/df) Gamma((df+1)/2) / Gamma(df/2)
//
// Pooling computes the "within" mean square of an analysis of variance (Fisher 1925). The divisor
// c4 (Holtzman 1950) removes the bias of a standard deviation of few values, which is too small by
// 20 % at one degree of freedom and by 3 % at eight. Windows are taken as independent. Variation
// that is slower than a trial is not included.
//
// CV is NaN without any degree of freedom. Low and High are its confidence interval, by a jackknife
// of its logarithm over blocks (Miller 1968). They are 0 if fewer than two blocks have windows. The
// interval contains the true value at the stated confidence if windows are normal. On a real
// machine, with rare outliers that few blocks contain, it does so in 85 to 89 of 100 cases.
// Verdicts do not use this interval: see CVRatio.
type PooledCV struct {
	CV        float64
	Low, High float64
	DF        int // degrees of freedom
}

// MinDF is the least number of degrees of freedom with which a PooledCV is shown or compared. Below
// it the relative standard error is over a quarter.
const MinDF = 8

// TooShort begins the warning of a comparison of coefficients of variation with fewer than MinDF
// degrees of freedom.
const TooShort = "too short to tell"

// HasMinDF reports whether s has at least MinDF degrees of freedom.
func (s PooledCV) HasMinDF() bool { return s.DF >= MinDF }

// PoolCV returns the pooled coefficient of variation of a subject's trials in windows of the given
// length, in the time unit of the readings.
func PoolCV(trials []SampledTrial, window float64) PooledCV {
	return poolCV(sumsOfSquares(trials, window))
}

// CVRatio estimates the ratio of two subjects' coefficients of variation. Their trials must have
// run in the same palindromic blocks, and a block is used as in PairedRatio. It is one observation:
// the logarithm of the ratio of the two coefficients pooled within it. The interval makes no
// assumption about the windows. The ratio is the geometric mean over the blocks, which an outlier
// changes less than it does PoolCV. Below MinDF of either subject there is neither an interval nor
// a p, and the warning begins with TooShort.
func CVRatio(a, b []SampledTrial, window float64) Estimate {
	return cvRatio(sumsOfSquares(a, window), sumsOfSquares(b, window))
}

// UnpairedCVRatio is CVRatio for two runs that were not interleaved, by Welch's t test as in
// UnpairedRatio.
func UnpairedCVRatio(a, b []SampledTrial, window float64) Estimate {
	return unpairedCVRatio(sumsOfSquares(a, window), sumsOfSquares(b, window))
}

// A WindowCV is the coefficient of variation over windows of one length.
type WindowCV struct {
	Length float64
	PooledCV
}

// CVByWindow returns the coefficient of variation of a subject's trials by window length, shortest
// first. The lengths are the given one, its halves down to least, and its doubles while MinDF
// degrees of freedom remain. least should be at least twice the sampling interval.
func CVByWindow(trials []SampledTrial, window, least float64) []WindowCV {
	var curve []WindowCV
	if !(window > 0) || !(least > 0) || math.IsInf(window, 1) {
		return nil
	}
	for window/2 >= least {
		window /= 2
	}
	for window < least {
		window *= 2
	}
	for ; ; window *= 2 {
		s := PoolCV(trials, window)
		if !s.HasMinDF() {
			return curve
		}
		curve = append(curve, WindowCV{window, s})
	}
}

// sumOfSquares is the sum of squares of the windows of one trial, or of several.
type sumOfSquares struct {
	block int
	sum   float64 // sum of the squared deviations from the mean, divided by the mean squared
	df    int     // degrees of freedom: windows minus one for each trial; 0: too few windows
}

func sumsOfSquares(trials []SampledTrial, window float64) []sumOfSquares {
	all := make([]sumOfSquares, len(trials))
	for i, t := range trials {
		all[i].block = t.Block
		w := wholeWindows(t.Readings, window)
		if cv := CV(w); !math.IsNaN(cv) && !math.IsInf(cv, 0) {
			all[i].df = len(w) - 1
			all[i].sum = cv * cv * float64(all[i].df)
		}
	}
	return all
}

// wholeWindows is Windows, but returns none if they are shorter than the sampling interval: those
// would show the interpolation.
func wholeWindows(readings []Reading, window float64) []float64 {
	if n := len(readings); n < 2 || !((readings[n-1].At-readings[0].At)/window < float64(n)) {
		return nil
	}
	return Windows(readings, window)
}

// add pools two trials, or two blocks.
func (s sumOfSquares) add(t sumOfSquares) sumOfSquares {
	s.sum += t.sum
	s.df += t.df
	return s
}

// log returns the logarithm of the coefficient of variation, without the correction for bias. It is
// minus infinity if nothing varies.
func (s sumOfSquares) log() float64 { return math.Log(s.sum/float64(s.df)) / 2 }

// cv returns the coefficient of variation, corrected for the bias of few windows; NaN without
// degrees of freedom.
func (s sumOfSquares) cv() float64 {
	if s.df == 0 {
		return math.NaN()
	}
	return math.Sqrt(s.sum/float64(s.df)) / c4(float64(s.df))
}

// c4 returns the expected sample standard deviation with df degrees of freedom, as a share of the
// true one.
func c4(df float64) float64 {
	upper, _ := math.Lgamma((df + 1) / 2)
	lower, _ := math.Lgamma(df / 2)
	return math.Sqrt(2/df) * math.Exp(upper-lower)
}

// poolCV is PoolCV on sums of squares. The interval is a jackknife over blocks: its pseudo-values
// leave out one block each.
func poolCV(trials []sumOfSquares) PooledCV {
	blocks := inBlocks(trials)
	all := sum(blocks)
	s := PooledCV{CV: all.cv(), DF: all.df}
	if len(blocks) < 2 || !(all.sum > 0) {
		return s
	}
	pseudo := make([]float64, len(blocks))
	n := float64(len(blocks))
	for i := range blocks {
		rest := sum(slices.Delete(slices.Clone(blocks), i, i+1))
		pseudo[i] = n*all.log() - (n-1)*rest.log()
	}
	half := stat.StdErr(stat.StdDev(pseudo, nil), n) * quantile(1-(1-Confidence)/2, n-1)
	if low, high := s.CV*math.Exp(-half), s.CV*math.Exp(half); !math.IsNaN(half) && !math.IsInf(high, 0) {
		s.Low, s.High = low, high
	}
	return s
}

// inBlocks pools the trials of each block; trials without degrees of freedom are left out.
func inBlocks(trials []sumOfSquares) []sumOfSquares {
	var blocks []sumOfSquares
	for _, t := range trials {
		if t.df == 0 {
			continue
		}
		i := slices.IndexFunc(blocks, func(b sumOfSquares) bool { return b.block == t.block })
		if i < 0 {
			blocks = append(blocks, t)
		} else {
			blocks[i] = blocks[i].add(t)
		}
	}
	return blocks
}

func sum(blocks []sumOfSquares) (all sumOfSquares) {
	for _, b := range blocks {
		all = all.add(b)
	}
	return all
}

// completeBlocks returns a subject's blocks by number. A block is empty (df 0) unless it has two
// trials with degrees of freedom.
func completeBlocks(trials []sumOfSquares) map[int]sumOfSquares {
	blocks, good := map[int]sumOfSquares{}, map[int]int{}
	for _, t := range trials {
		blocks[t.block] = blocks[t.block].add(t)
		if t.df > 0 {
			good[t.block]++
		}
	}
	for number, b := range blocks {
		if good[number] != 2 || !(b.sum > 0) {
			blocks[number] = sumOfSquares{}
		}
	}
	return blocks
}

func cvRatio(a, b []sumOfSquares) Estimate {
	as, bs := completeBlocks(a), completeBlocks(b)
	var diffs []float64
	var aAll, bAll sumOfSquares
	numbers := union(as, bs)
	for _, number := range numbers {
		if x, y := as[number], bs[number]; x.df > 0 && y.df > 0 {
			diffs = append(diffs, x.log()-y.log())
			aAll, bAll = aAll.add(x), bAll.add(y)
		}
	}
	e := pairedEstimate(diffs)
	e.Dropped = len(numbers) - len(diffs)
	return e.requireDF(aAll.df, bAll.df)
}

func unpairedCVRatio(a, b []sumOfSquares) Estimate {
	as, aAll, aDropped := blockLogs(completeBlocks(a))
	bs, bAll, bDropped := blockLogs(completeBlocks(b))
	e := Estimate{Blocks: min(len(as), len(bs)), Dropped: aDropped + bDropped, P: 1}
	if e.Blocks > 0 {
		e = welch(e, as, bs)
	}
	return e.requireDF(aAll.df, bAll.df)
}

// blockLogs returns the logarithms of the blocks that are not empty, in order, the pool of these
// blocks, and the number of empty ones.
func blockLogs(blocks map[int]sumOfSquares) (values []float64, all sumOfSquares, empty int) {
	for _, number := range slices.Sorted(maps.Keys(blocks)) {
		b := blocks[number]
		if b.df == 0 {
			empty++
			continue
		}
		values, all = append(values, b.log()), all.add(b)
	}
	return values, all, empty
}

// requireDF completes the estimate of a ratio of coefficients of variation whose pools have a and b
// degrees of freedom. With too few it removes the interval and the p.
func (e Estimate) requireDF(a, b int) Estimate {
	e.Warning = warnBlocks(e)
	if least := min(a, b); least < MinDF && e.Blocks+e.Dropped > 0 {
		e = Estimate{Ratio: e.Ratio, P: 1, Blocks: e.Blocks, Dropped: e.Dropped}
		e.Warning = fmt.Sprintf("%s: the coefficient of variation has %d degrees of freedom (windows minus one for each trial), and %d are needed: use longer trials or more blocks", TooShort, least, MinDF)
	}
	return e
}
