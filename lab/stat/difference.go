package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// A Difference is an estimate of mean(B) - mean(A), with the bounds of its 95 % confidence
// interval.
type Difference struct{ Value, Low, High float64 }

// MeanDifference estimates the difference of the means of two independent samples, by Welch's t
// test. With fewer than two values on a side the interval is unbounded.
func MeanDifference(a, b []float64) Difference {
	d := Difference{Low: math.Inf(-1), High: math.Inf(1)}
	if len(a) == 0 || len(b) == 0 {
		return d
	}
	am, av := stat.MeanVariance(a, nil)
	bm, bv := stat.MeanVariance(b, nil)
	d.Value = bm - am
	if len(a) < 2 || len(b) < 2 {
		return d
	}
	err, df := welchError(av, bv, float64(len(a)), float64(len(b)))
	half := 0.0
	if err > 0 {
		half = err * quantile(1-(1-Confidence)/2, df)
	}
	d.Low, d.High = d.Value-half, d.Value+half
	return d
}

// welchError returns the standard error of a difference of means and its degrees of freedom, by the
// variances and sizes of the two samples (Welch 1947).
func welchError(av, bv, an, bn float64) (err, df float64) {
	as, bs := av/an, bv/bn
	if as+bs == 0 {
		return 0, an + bn - 2
	}
	return math.Sqrt(as + bs), (as + bs) * (as + bs) / (as*as/(an-1) + bs*bs/(bn-1))
}
