package httpload

import (
	"math"
	"testing"
)

func TestRampsAreParsedOrRejected(t *testing.T) {
	for text, want := range map[string][]float64{
		"100:300:100": {100, 200, 300}, "100:350:100": {100, 200, 300}, "0.1:0.3:0.1": {0.1, 0.2, 0.3}, "5:5:1": {5},
		"": nil, "100": nil, "1:2": nil, "1:2:3:4": nil, "a:2:1": nil, "3:2:1": nil, "1:2:0": nil, "1:2:-1": nil, "0:2:1": nil, "1:2e6:1e5": nil, "1:2000:1": nil, "NaN:2:1": nil, "1:2:NaN": nil,
	} {
		rates, err := ParseRamp(text)
		if (err == nil) != (want != nil) {
			t.Errorf("%q: got the error %v, want one: %v", text, err, want == nil)
		}
		if err != nil {
			continue
		}
		if len(rates) != len(want) {
			t.Errorf("%q: %v, want %v", text, rates, want)
			continue
		}
		for i := range want {
			if math.Abs(rates[i]-want[i]) > 1e-9 {
				t.Errorf("%q: %v, want %v", text, rates, want)
			}
		}
	}
}
