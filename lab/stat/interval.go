package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// fromDifferences makes an estimate from independent observations of the logarithm of a ratio, by
// Student's t.
func fromDifferences(diffs []float64) Estimate {
	e := Estimate{Blocks: len(diffs), P: 1}
	switch len(diffs) {
	case 0:
		return e
	case 1:
		e.mean, e.Ratio = diffs[0], exp(diffs[0])
		return e
	}
	n := float64(len(diffs))
	mean, sd := stat.MeanStdDev(diffs, nil)
	return fromT(e, mean, stat.StdErr(sd, n), n-1)
}

// fromT completes an estimate whose logarithm has the given mean, standard error and degrees of
// freedom.
func fromT(e Estimate, mean, err, df float64) Estimate {
	e.mean, e.err, e.df = mean, err, df
	e.Ratio = exp(mean)
	e.Low, e.High = e.at(1 - Confidence)
	e.P = min(1, 2*tail(math.Abs(mean), err, df))
	return e
}

// at is the two-sided interval that misses the truth at the given level.
func (e Estimate) at(level float64) (low, high float64) {
	half := e.err * quantile(1-level/2, e.df)
	return exp(e.mean - half), exp(e.mean + half)
}

// exp stays finite, since not every format of data has infinity, and over 0, so that its inverse
// does too.
func exp(log float64) float64 {
	return min(max(math.Exp(log), 1/math.MaxFloat64), math.MaxFloat64)
}

// tail is the chance that noise alone puts an estimate at distance or further to one side. Without
// any noise it is a certainty: 1 at no distance, 0 at any other.
func tail(distance, err, df float64) float64 {
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
