package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// fromDifferences makes an estimate from independent observations of the logarithm of a ratio and their
// weights, which add up to 1, by Student's t. With equal weights that is the ordinary interval; unequal ones
// count as the smaller number of equal ones that would scatter as much (Kish 1965).
func fromDifferences(diffs, weights []float64) Estimate {
	e := Estimate{Blocks: len(diffs), P: 1}
	if len(diffs) == 0 {
		return e
	}
	var mean, scatter, squares float64
	for i, d := range diffs {
		mean += weights[i] * d
		squares += weights[i] * weights[i]
	}
	if len(diffs) == 1 {
		e.mean, e.Ratio = mean, exp(mean)
		return e
	}
	for i, d := range diffs {
		scatter += weights[i] * weights[i] * (d - mean) * (d - mean) / (1 - weights[i])
	}
	return fromT(e, mean, math.Sqrt(scatter), 1/squares-1)
}

// fromT completes an estimate whose logarithm has the given mean, standard error and degrees of freedom.
func fromT(e Estimate, mean, err, df float64) Estimate {
	e.mean, e.err, e.df = mean, err, df
	half := err * quantile(1-(1-Confidence)/2, df)
	e.Ratio, e.Low, e.High = exp(mean), exp(mean-half), exp(mean+half)
	e.P = min(1, 2*tail(math.Abs(mean), err, df))
	return e
}

// exp stays finite, since not every format of data has infinity.
func exp(log float64) float64 { return min(math.Exp(log), math.MaxFloat64) }

// tail is the chance that noise alone puts an estimate at distance or further to one side. Without any
// noise it is a certainty: 1 at no distance, 0 at any other.
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
