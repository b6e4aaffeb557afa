package stat

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestVariationOfKnownNumbers(t *testing.T) {
	// The counter grows by 1, 3, 1, 3 in windows of 10: mean 2, standard deviation sqrt(4/3).
	r := []Reading{{0, 5}, {10, 6}, {20, 9}, {30, 10}, {40, 13}}
	if got, want := Variation(r, 10), math.Sqrt(4.0/3)/2; !near(got, want) {
		t.Errorf("got a variation of %v, want %v", got, want)
	}
	if got := Variation(r, 20); !near(got, 0) {
		t.Errorf("got a variation of %v in windows of a whole period, want 0", got)
	}
}

func TestTooFewReadingsHaveNoVariation(t *testing.T) {
	for name, r := range map[string][]Reading{
		"no readings":  nil,
		"one":          {{0, 1}},
		"one window":   {{0, 1}, {10, 2}},
		"nothing used": {{0, 1}, {10, 1}, {20, 1}},
		"one instant":  {{5, 1}, {5, 2}},
	} {
		if got := Variation(r, 10); !math.IsNaN(got) {
			t.Errorf("%s: got a variation of %v, want NaN", name, got)
		}
	}
	if Windows([]Reading{{0, 0}, {1, 1}}, 0) != nil || CVByWindow(nil, 0, 100) != nil || CVByWindow(nil, math.Inf(1), 100) != nil {
		t.Error("got windows of length 0, want none")
	}
}

func TestWindowsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := []Reading{{rapid.Float64Range(-100, 100).Draw(t, "start"), 0}}
		for range rapid.IntRange(1, 60).Draw(t, "readings") {
			last := r[len(r)-1]
			r = append(r, Reading{last.At + rapid.Float64Range(0.1, 9).Draw(t, "later"), last.Counter + rapid.Float64Range(0, 50).Draw(t, "more")})
		}
		n := rapid.IntRange(1, 10).Draw(t, "windows")
		span := r[len(r)-1].At - r[0].At
		w := Windows(r, span/float64(n))
		sum := 0.0
		for _, x := range w {
			if x < -1e-9 {
				t.Fatalf("got a growth of %v in a window of a monotonic counter, want none below 0", x)
			}
			sum += x
		}
		if len(w) != n || !near(sum, r[len(r)-1].Counter) {
			t.Fatalf("got %d windows with a sum of %v, want %d with %v", len(w), sum, n, r[len(r)-1].Counter)
		}
	})
}
