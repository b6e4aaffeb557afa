package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// pairedEstimate estimates a ratio from independent observations of its logarithm, by Student's
// t. The field Dropped is left to the caller.
func pairedEstimate(diffs []float64) Estimate {
	e := Estimate{Blocks: len(diffs), P: 1}
	switch len(diffs) {
	case 0:
		return e
	case 1:
		e.logMean, e.Ratio = diffs[0], exp(diffs[0])
		return e
	}
	n := float64(len(diffs))
	mean, sd := stat.MeanStdDev(diffs, nil)
	return tEstimate(e, mean, stat.StdErr(sd, n), n-1)
}

// tEstimate completes an estimate from the mean, the standard error and the degrees of freedom of
// its logarithm.
func tEstimate(e Estimate, mean, err, df float64) Estimate {
	e.logMean, e.stdErr, e.df = mean, err, df
	e.Ratio = exp(mean)
	e.Low, e.High = e.intervalAt(1 - Confidence)
	e.P = min(1, 2*tailP(math.Abs(mean), err, df))
	return e
}

// intervalAt returns the two-sided confidence interval at the given level: it misses the true ratio
// with that probability.
func (e Estimate) intervalAt(level float64) (low, high float64) {
	half := e.stdErr * quantile(1-level/2, e.df)
	return exp(e.logMean - half), exp(e.logMean + half)
}

// exp is math.Exp limited to finite values over 0: JSON has no infinity, and the inverse of a ratio
// must be finite too.
func exp(log float64) float64 {
	return min(max(math.Exp(log), 1/math.MaxFloat64), math.MaxFloat64)
}

// tailP returns the one-sided p value of an estimate at distance from the hypothesis. With a
// standard error of 0 it is 1 at no distance or a negative one, and 0 at any other.
func tailP(distance, err, df float64) float64 {
	if err == 0 {
		if distance > 0 {
			return 0
		}
		return 1
	}
	return student(df).Survival(distance / err)
}

func quantile(p, df float64) float64 { return student(df).Quantile(p) }

func student(df float64) distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df} }
