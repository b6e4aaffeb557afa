package report

import (
	"math"
	"testing"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Estimate{8.314, 8.1, 8.52, 4}.String(), "8.31 (8.10 to 8.52)"}, {Estimate{8.314, math.NaN(), math.NaN(), 1}.String(), "8.31"},
		{slug("../A b/ü"), "a-b"}, {ReasonKind("generator late: median 3 us"), "generator late"}, {ReasonKind("hypervisor took 3 %"), "hypervisor took …"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestIntervalIsStudents: three values of 11, 12 and 13 have a mean of 12 and an interval of 4.303
// standard errors.
func TestIntervalIsStudents(t *testing.T) {
	e := intervalOf([]float64{11, 12, 13})
	if want := 4.302653 / math.Sqrt(3); math.Abs(e.High-12-want) > 1e-5 || math.Abs(12-e.Low-want) > 1e-5 {
		t.Errorf("got %v, want 12 plus or minus %v", e, want)
	}
}

// TestIntervalStaysPossible: values of which none is negative have no negative end; others may.
func TestIntervalStaysPossible(t *testing.T) {
	if e := intervalOf([]float64{0.01, 0.3}); e.Low != 0 || e.High <= 0.3 {
		t.Errorf("two variations: %v", e)
	}
	if e := intervalOf([]float64{-1, 1}); e.Low >= -1 {
		t.Errorf("a value below 0 and one above: %v", e)
	}
}
