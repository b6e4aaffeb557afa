package report

import (
	"math"
	"slices"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/stat"

	gonum "gonum.org/v1/gonum/stat"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a mean with its 95 % confidence interval. mean is NaN without values, low and high
// with fewer than two.
type Estimate struct {
	Mean, Low, High float64
	N               int // number of values
}

// EstimateOf returns the mean over trials. The interval is Student's t over the means of blocks,
// since the two trials of a block share its drift.
func EstimateOf(trials []*result.Trial, of func(*result.Trial) float64) Estimate {
	blocks, n := blockMeans(trials, of)
	var means []float64
	for _, t := range trials {
		if m, ok := blocks[t.Block]; ok {
			means = append(means, m)
			delete(blocks, t.Block)
		}
	}
	e := intervalOf(means)
	e.N = n
	return e
}

// Difference returns the mean difference of a and b, paired by block.
func Difference(a, b []*result.Trial, of func(*result.Trial) float64) Estimate {
	ofA, _ := blockMeans(a, of)
	ofB, _ := blockMeans(b, of)
	var differences []float64
	for block, v := range ofA {
		if w, ok := ofB[block]; ok {
			differences = append(differences, v-w)
		}
	}
	slices.Sort(differences) // rounding depends on the order of the sum, and a map has none
	return studentOf(differences)
}

// blockMeans returns the mean of each block over the values that are numbers, and their number.
func blockMeans(trials []*result.Trial, of func(*result.Trial) float64) (means map[int]float64, n int) {
	values := map[int][]float64{}
	for _, t := range trials {
		if v := of(t); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values[t.Block] = append(values[t.Block], v)
			n++
		}
	}
	means = map[int]float64{}
	for block, v := range values {
		means[block] = gonum.Mean(v, nil)
	}
	return means, n
}

// intervalOf returns the mean of v with its interval. If no value is negative, the interval is
// limited to 0: with few values it could include impossible ones.
func intervalOf(v []float64) Estimate {
	e := studentOf(v)
	if e.HasInterval() && slices.Min(v) >= 0 {
		e.Low = max(e.Low, 0)
	}
	return e
}

// studentOf returns the mean of v, which may be of either sign, with Student's t interval.
func studentOf(v []float64) Estimate {
	e := Estimate{math.NaN(), math.NaN(), math.NaN(), len(v)}
	if len(v) > 0 {
		e.Mean = gonum.Mean(v, nil)
	}
	if len(v) > 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: float64(len(v) - 1)}.Quantile(0.975)
		half := t * gonum.StdErr(gonum.StdDev(v, nil), float64(len(v)))
		e.Low, e.High = e.Mean-half, e.Mean+half
	}
	return e
}

func (e Estimate) Known() bool { return !math.IsNaN(e.Mean) && !math.IsInf(e.Mean, 0) }

func (e Estimate) HasInterval() bool { return e.Low < e.High && !math.IsInf(e.High-e.Low, 0) }

// String formats the mean with its interval: "8.31 (8.10 to 8.52)".
func (e Estimate) String() string {
	if !e.Known() {
		return format.Absent
	}
	if !e.HasInterval() {
		return format.Sig(e.Mean)
	}
	return format.Sig(e.Mean) + " (" + e.Interval() + ")"
}

// Interval formats the interval with the decimals of the mean: "8.10 to 8.52".
func (e Estimate) Interval() string {
	if !e.HasInterval() {
		return format.Absent
	}
	n := format.Decimals(e.Mean)
	return format.Fixed(e.Low, n) + " to " + format.Fixed(e.High, n)
}

// Median returns the median of a figure of trials; NaN without any.
func Median(trials []*result.Trial, of func(*result.Trial) float64) float64 {
	var v []float64
	for _, t := range trials {
		v = append(v, of(t))
	}
	return MedianOf(v)
}

// MedianOf returns the median of v; NaN without any.
func MedianOf(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// estimateSpread converts a coefficient of variation to an estimate; one with too few degrees of
// freedom is unknown.
func estimateSpread(s stat.PooledCV, trials int) Estimate {
	e := Estimate{math.NaN(), math.NaN(), math.NaN(), trials}
	if s.HasMinDF() {
		e.Mean = s.CV
	}
	if s.HasMinDF() && s.High > 0 {
		e.Low, e.High = s.Low, s.High
	}
	return e
}

// Point returns the estimate as a point of a curve, with a tooltip.
func (e Estimate) Point(x float64, hover string) figure.XY {
	return figure.XY{X: x, Y: e.Mean, Low: e.Low, High: e.High, Hover: hover}
}
