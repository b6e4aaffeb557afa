package sequential

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestBoundariesAreThePublishedOnes compares five equally spaced looks at a one-sided level of
// 0.025 with the published boundaries of the O'Brien-Fleming-like spending function (Reboussin,
// DeMets, Kim and Lan 2000).
func TestBoundariesAreThePublishedOnes(t *testing.T) {
	got := levels(0.025, 5, 1)
	for i, want := range []float64{4.8769, 3.3569, 2.6803, 2.2898, 2.0310} {
		if z := -distuv.UnitNormal.Quantile(got[i]); math.Abs(z-want) > 0.004 {
			t.Errorf("look %d of 5: got the boundary %.5f, want %.4f", i+1, z, want)
		}
	}
}

func TestBoundariesSpendTheWholeLevel(t *testing.T) {
	const alpha, blocks, paths = 0.05, 30, 20000
	l := levels(alpha, blocks, FirstLook)
	r := rand.New(rand.NewPCG(1, 1))
	crossed := 0
	for range paths {
		sum := 0.0
		for n := 1; n <= blocks; n++ {
			sum += r.NormFloat64()
			if distuv.UnitNormal.Survival(sum/math.Sqrt(float64(n))) < l[n-1] {
				crossed++
				break
			}
		}
	}
	if got := float64(crossed) / paths; math.Abs(got-alpha) > 3*math.Sqrt(alpha*(1-alpha)/paths) {
		t.Errorf("got %.4f of normal paths across the boundary, want %.4f", got, alpha)
	}
}

func TestNoLevelIsSpentBeforeTheFirstLook(t *testing.T) {
	for _, blocks := range []int{FirstLook, 4, 10, 60} {
		l := levels(0.01, blocks, FirstLook)
		for n := 1; n < FirstLook; n++ {
			if l[n-1] != 0 {
				t.Errorf("%d blocks planned, look %d: got the level %v, want 0", blocks, n, l[n-1])
			}
		}
		if last := l[blocks-1]; !(last > 0 && last < 0.01001) {
			t.Errorf("%d blocks planned: got the last level %v, want over 0 and about 0.01 at most", blocks, last)
		}
	}
}
