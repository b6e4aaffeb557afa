package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMeanDifferenceOfKnownNumbers(t *testing.T) {
	// Means 2 and 5, variances 1 and 4: standard error sqrt(1/3 + 4/3), df 2.9412; the quantile of
	// Student's t for that is 3.2183.
	d := MeanDifference([]float64{1, 2, 3}, []float64{3, 5, 7})
	half := math.Sqrt(5.0/3) * quantile(0.975, 25.0/9/(1.0/9/2+16.0/9/2))
	if d.Value != 3 || !near(d.Low, 3-half) || !near(d.High, 3+half) {
		t.Errorf("got %+v, want 3 in [%v, %v]", d, 3-half, 3+half)
	}
}

func TestMeanDifferenceWithoutVariationHasNoWidth(t *testing.T) {
	if d := MeanDifference([]float64{0, 0}, []float64{2, 2}); d != (Difference{2, 2, 2}) {
		t.Errorf("got %+v, want 2 in [2, 2]", d)
	}
}

func TestMeanDifferenceOfOneValueIsUnbounded(t *testing.T) {
	if d := MeanDifference([]float64{1}, []float64{2, 3}); d.Value != 1.5 || !math.IsInf(d.Low, -1) || !math.IsInf(d.High, 1) {
		t.Errorf("got %+v, want 1.5 in (-inf, inf)", d)
	}
}

func TestMeanDifferenceCoversTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	covered := 0
	const runs = 2000
	for range runs {
		a, b := make([]float64, 20), make([]float64, 20)
		for i := range a {
			a[i], b[i] = r.ExpFloat64(), 2*r.ExpFloat64()
		}
		if d := MeanDifference(a, b); d.Low <= 1 && 1 <= d.High {
			covered++
		}
	}
	if share := float64(covered) / runs; share < 0.92 || share > 0.97 {
		t.Errorf("the interval contains the true difference in %.3f of runs, want about 0.95", share)
	}
}
