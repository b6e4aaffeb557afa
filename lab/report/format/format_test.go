package format

import (
	"math"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Sig(8.3142), "8.31"}, {Sig(36.08), "36.1"}, {Sig(0.0123456), "0.0123"}, {Sig(1234.5), "1,234"}, {Sig(-1234567), "-1,234,567"}, {Sig(999999), "999,999"},
		{Sig(0), "0"}, {Sig(math.NaN()), Absent}, {Sig(math.Inf(1)), Absent}, {Sig(1e12), "1.00e+12"}, {Sig(0.000001), "0.00000"},
		{Short(92), "92"}, {Short(0.8), "0.8"}, {Short(125), "125"}, {Short(1e12), "1.00e+12"}, {Fixed(123456.789, 1), "123,456.8"},
		{Times(1.6189), "1.62"}, {Times(14.26), "14.26"}, {Times(math.NaN()), Absent},
		{Bytes(0), Absent}, {Bytes(2048), "2,048 B"}, {Bytes(22_000), "21.5 KiB"}, {Bytes(95 << 20), "95.0 MiB"},
		{Percent(0.9987), "99.9 %"}, {List(nil), ""}, {List([]string{"a"}), "a"}, {List([]string{"a", "b", "c"}), "a, b and c"},
		{Between(math.NaN(), 1), "no interval"}, {Between(0.9, 1.1), "0.90 to 1.10"}, {Plural(1, "trial", "trials"), "1 trial"}, {Plural(1200, "trial", "trials"), "1,200 trials"},
		{Upper("poisson"), "Poisson"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
