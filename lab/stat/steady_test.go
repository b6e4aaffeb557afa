package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// level is n values around mean with normal noise of sd.
func level(r *rand.Rand, n int, mean, sd float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = mean + sd*r.NormFloat64()
	}
	return v
}

func TestSteadyFindsTheTailAfterADrift(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var falling []float64
	// just-in-time compilation: ten times the cost at first, steady after about 20 windows
	for i := range 80 {
		falling = append(falling, 10+90*math.Exp(-float64(i)/4)+0.1*r.NormFloat64())
	}
	for _, c := range []struct {
		name     string
		values   []float64
		min, max int // where the tail may begin
		ok       bool
	}{
		{"nothing", nil, 0, 0, false},
		{"too short to tell", level(r, 4, 10, 0.3), 0, 0, false},
		{"steady from the start", level(r, 30, 10, 0.1), 0, 0, true},
		{"steady, too noisy to tell so soon", level(r, 12, 10, 0.5), 0, 12, false},
		{"constant", level(r, 10, 10, 0), 0, 0, true},
		{"all zero", level(r, 10, 0, 0), 0, 0, true},
		{"one cold window", append([]float64{40}, level(r, 20, 10, 0.1)...), 1, 3, true},
		{"a step down", append(level(r, 8, 20, 0.5), level(r, 40, 10, 0.5)...), 8, 8, true},
		{"a step just now", append(level(r, 12, 20, 0.5), level(r, 3, 10, 0.5)...), 12, 12, false},
		{"just-in-time compilation", falling, 8, 30, true},
		{"still falling", falling[:10], 4, 9, false},
	} {
		from, ok := FindSteadyStart(c.values)
		if from < c.min || from > c.max || ok != c.ok {
			t.Errorf("%s: got steady from %d (%v), want from %d to %d (%v)", c.name, from, ok, c.min, c.max, c.ok)
		}
	}
}

func TestSteadySeesFewStepsInNoise(t *testing.T) {
	for _, n := range []int{10, 20, 40} {
		r := rand.New(rand.NewPCG(3, uint64(n)))
		seen := 0
		for range 2000 {
			if from, _ := FindSteadyStart(level(r, n, 10, 1)); from != 0 {
				seen++
			}
		}
		t.Logf("%d windows of pure noise: a step is seen in %.1f %%", n, float64(seen)/20)
		if seen > 200 {
			t.Errorf("%d windows of noise: got a step in %d of 2,000 series, want at most 200", n, seen)
		}
	}
}

func TestSteadyIgnoresTheUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(1, 100), 0, 40).Draw(t, "values")
		scaled := make([]float64, len(v))
		for i, x := range v {
			scaled[i] = 1024 * x // a power of two: nothing is rounded
		}
		from, ok := FindSteadyStart(v)
		sfrom, sok := FindSteadyStart(scaled)
		if from != sfrom || ok != sok || from < 0 || from > len(v) {
			t.Fatalf("got steady from %d (%v) in one unit and from %d (%v) in another, want the same", from, ok, sfrom, sok)
		}
	})
}
