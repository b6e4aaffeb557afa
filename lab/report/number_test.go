package report

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{sig(8.3142), "8.31"}, {sig(36.08), "36.1"}, {sig(0.0123456), "0.0123"}, {sig(1234.5), "1,234"}, {sig(-1234567), "-1,234,567"}, {sig(999999), "999,999"},
		{sig(0), "0"}, {sig(math.NaN()), absent}, {sig(math.Inf(1)), absent}, {sig(1e12), "1.00e+12"}, {sig(0.000001), "0.00000"},
		{short(92), "92"}, {short(0.8), "0.8"}, {short(125), "125"}, {short(1e12), "1.00e+12"}, {fixed(123456.789, 1), "123,456.8"},
		{times(1.6189), "1.62"}, {times(14.26), "14.26"}, {times(math.NaN()), absent},
		{Bytes(0), absent}, {Bytes(2048), "2,048 B"}, {Bytes(22_000), "21.5 KiB"}, {Bytes(95 << 20), "95.0 MiB"},
		{percent(0.9987), "99.9 %"}, {list(nil), ""}, {list([]string{"a"}), "a"}, {list([]string{"a", "b", "c"}), "a, b and c"},
		{estimate{8.314, 8.1, 8.52, 4}.String(), "8.31 (8.10 to 8.52)"}, {estimate{8.314, math.NaN(), math.NaN(), 1}.String(), "8.31"},
		{between(math.NaN(), 1), "no interval"}, {between(0.9, 1.1), "0.90 to 1.10"}, {plural(1, "trial", "trials"), "1 trial"}, {plural(1200, "trial", "trials"), "1,200 trials"},
		{slug("../A b/ü"), "a-b"}, {upper("poisson"), "Poisson"}, {reasonKind("generator late: median 3 us"), "generator late"}, {reasonKind("hypervisor took 3 %"), "hypervisor took …"},
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
	if want := 4.302653 / math.Sqrt(3); math.Abs(e.high-12-want) > 1e-5 || math.Abs(12-e.low-want) > 1e-5 {
		t.Errorf("got %v, want 12 plus or minus %v", e, want)
	}
}

// TestIntervalStaysPossible: values of which none is negative have no negative end; others may.
func TestIntervalStaysPossible(t *testing.T) {
	if e := intervalOf([]float64{0.01, 0.3}); e.low != 0 || e.high <= 0.3 {
		t.Errorf("two variations: %v", e)
	}
	if e := intervalOf([]float64{-1, 1}); e.low >= -1 {
		t.Errorf("a value below 0 and one above: %v", e)
	}
}
