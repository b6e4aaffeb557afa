package stat

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A Record is one accepted trial of one subject: its block, and the subject's counter over the
// measured window.
type Record struct {
	Block    int
	Readings []Reading
}

// A Spread is how much a subject's counter varies from window to window, in all of its trials
// together.
//
// It is pooled: each trial's windows are set against that trial's own mean, so that a machine that
// was faster in one trial than in another adds nothing, and the squares of all trials are added up
// and divided by their degrees of freedom, which are the windows of each trial less one:
//
//	sigma/mu = sqrt( sum over trials of (n-1) CV^2 / sum over trials of (n-1) ) / c4
//	c4       = sqrt(2/df) Gamma((df+1)/2) / Gamma(df/2)
//
// Pooling is the analysis of variance's "within" mean square (Fisher 1925). c4 (Holtzman 1950)
// takes out that the square root of few squares comes out too small: by 20 % at one degree of
// freedom, 3 % at eight. Windows are taken to be independent of each other; what varies more slowly
// than a trial lasts is not in the figure.
//
// CV is NaN without any degree of freedom. Low and High are its interval of Confidence, by the
// jackknife over blocks of its logarithm (Miller 1968), and 0 where fewer than two blocks hold
// anything. Of normal windows it holds the truth as often as it says; in trials of a real machine,
// whose rare wild windows few blocks do not show, in 85 to 89 of 100. Verdicts do not rest on it,
// but on SpreadRatio.
type Spread struct {
	CV        float64
	Low, High float64
	DF        int
}

// LeastDF is the degrees of freedom under which a Spread says too little to be shown or compared:
// its standard error is then over a quarter.
const LeastDF = 8

// TooShort begins the warning of a comparison of spreads with fewer than LeastDF degrees of
// freedom.
const TooShort = "too short to tell"

// Enough says whether the spread rests on enough windows to be believed.
func (s Spread) Enough() bool { return s.DF >= LeastDF }

// Pool is the spread of a subject's trials in windows of the given length, in the unit of the
// readings.
func Pool(trials []Record, window float64) Spread { return pool(scatters(trials, window)) }

// SpreadRatio compares the spreads of two subjects whose trials ran in the same palindromic blocks.
// A block counts as in Ratio, and is one observation: the logarithm of the ratio of the two spreads
// pooled within it. So the interval rests on how these scatter, and on no assumption about the
// windows. The ratio is the geometric mean over the blocks, which one wild window moves less than
// it does Pool. Below LeastDF of either subject there is neither an interval nor a p, and the
// warning begins with TooShort.
func SpreadRatio(a, b []Record, window float64) Estimate {
	return spreadRatio(scatters(a, window), scatters(b, window))
}

// SpreadApart is SpreadRatio of two runs that were not interleaved, as Apart is Ratio of them.
func SpreadApart(a, b []Record, window float64) Estimate {
	return spreadApart(scatters(a, window), scatters(b, window))
}

// A WindowSpread is the spread seen through windows of one length.
type WindowSpread struct {
	Length float64
	Spread
}

// ByLength is the spread of a subject's trials in windows of the given length, of half of it, a
// quarter and so on down to least, and of twice, four times and so on, as long as there are LeastDF
// degrees of freedom. Shorter ones stand first. Least should be at least twice the distance of the
// readings.
func ByLength(trials []Record, window, least float64) []WindowSpread {
	var curve []WindowSpread
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
		s := Pool(trials, window)
		if !s.Enough() {
			return curve
		}
		curve = append(curve, WindowSpread{window, s})
	}
}

// scatter is what the windows of one trial say.
type scatter struct {
	block   int
	squares float64 // sum of the squared deviations from the mean, over the mean squared
	df      int     // windows less one; 0: it says nothing
}

func scatters(trials []Record, window float64) []scatter {
	all := make([]scatter, len(trials))
	for i, t := range trials {
		all[i].block = t.Block
		w := wholeWindows(t.Readings, window)
		if cv := CV(w); !math.IsNaN(cv) && !math.IsInf(cv, 0) {
			all[i].df = len(w) - 1
			all[i].squares = cv * cv * float64(all[i].df)
		}
	}
	return all
}

// wholeWindows is Windows, but none where they are finer than the readings: those would show the
// interpolation.
func wholeWindows(readings []Reading, window float64) []float64 {
	if n := len(readings); n < 2 || !((readings[n-1].At-readings[0].At)/window < float64(n)) {
		return nil
	}
	return Windows(readings, window)
}

// add joins what two trials, or two blocks, say.
func (s scatter) add(t scatter) scatter {
	s.squares += t.squares
	s.df += t.df
	return s
}

// log is the logarithm of the standard deviation, relative to the mean: minus infinity where
// nothing varies.
func (s scatter) log() float64 { return math.Log(s.squares/float64(s.df)) / 2 }

// cv is the standard deviation over the mean, free of the bias of few windows; NaN where there is
// none.
func (s scatter) cv() float64 {
	if s.df == 0 {
		return math.NaN()
	}
	return math.Sqrt(s.squares/float64(s.df)) / c4(float64(s.df))
}

// c4 is the mean of a standard deviation with df degrees of freedom, as a share of the true one.
func c4(df float64) float64 {
	upper, _ := math.Lgamma((df + 1) / 2)
	lower, _ := math.Lgamma(df / 2)
	return math.Sqrt(2/df) * math.Exp(upper-lower)
}

func pool(trials []scatter) Spread {
	blocks := inBlocks(trials)
	all := sum(blocks)
	s := Spread{CV: all.cv(), DF: all.df}
	if len(blocks) < 2 || !(all.squares > 0) {
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

// inBlocks joins the trials of each block that say something.
func inBlocks(trials []scatter) []scatter {
	var blocks []scatter
	for _, t := range trials {
		if t.df == 0 {
			continue
		}
		i := slices.IndexFunc(blocks, func(b scatter) bool { return b.block == t.block })
		if i < 0 {
			blocks = append(blocks, t)
		} else {
			blocks[i] = blocks[i].add(t)
		}
	}
	return blocks
}

func sum(blocks []scatter) (all scatter) {
	for _, b := range blocks {
		all = all.add(b)
	}
	return all
}

// wholeBlocks is the blocks of a subject by their number: empty those in which it has not two
// trials that say something.
func wholeBlocks(trials []scatter) map[int]scatter {
	blocks, good := map[int]scatter{}, map[int]int{}
	for _, t := range trials {
		blocks[t.block] = blocks[t.block].add(t)
		if t.df > 0 {
			good[t.block]++
		}
	}
	for number, b := range blocks {
		if good[number] != 2 || !(b.squares > 0) {
			blocks[number] = scatter{}
		}
	}
	return blocks
}

func spreadRatio(a, b []scatter) Estimate {
	as, bs := wholeBlocks(a), wholeBlocks(b)
	var diffs []float64
	var aAll, bAll scatter
	numbers := union(as, bs)
	for _, number := range numbers {
		if x, y := as[number], bs[number]; x.df > 0 && y.df > 0 {
			diffs = append(diffs, x.log()-y.log())
			aAll, bAll = aAll.add(x), bAll.add(y)
		}
	}
	e := fromDifferences(diffs)
	e.Dropped = len(numbers) - len(diffs)
	return e.restingOn(aAll.df, bAll.df)
}

func spreadApart(a, b []scatter) Estimate {
	as, aAll, aDropped := logs(wholeBlocks(a))
	bs, bAll, bDropped := logs(wholeBlocks(b))
	e := Estimate{Blocks: min(len(as), len(bs)), Dropped: aDropped + bDropped, P: 1}
	if e.Blocks > 0 {
		e = welch(e, as, bs)
	}
	return e.restingOn(aAll.df, bAll.df)
}

// logs is the logarithms of the blocks that are not empty, in their order, and what those hold
// together.
func logs(blocks map[int]scatter) (values []float64, all scatter, empty int) {
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

// restingOn completes the estimate of a ratio of spreads: it has no interval and no p where either
// rests on too few degrees of freedom.
func (e Estimate) restingOn(a, b int) Estimate {
	e.Warning = warnBlocks(e)
	if least := min(a, b); least < LeastDF && e.Blocks+e.Dropped > 0 {
		e = Estimate{Ratio: e.Ratio, P: 1, Blocks: e.Blocks, Dropped: e.Dropped}
		e.Warning = fmt.Sprintf("%s: the variation rests on %d degrees of freedom (each trial's windows less one, in the blocks that count), %d are needed: longer trials or more blocks give them", TooShort, least, LeastDF)
	}
	return e
}
