package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	gonum "gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// A log draws the logarithm of something from a distribution: of what a machine or a subject adds
// to a trial.
type log func(r *rand.Rand) float64

// A speed draws the logarithms of the machine's slowness at the places of a block.
type speed func(r *rand.Rand, places int) []float64

func quiet(r *rand.Rand, places int) []float64 { return make([]float64, places) }

// drifting wanders by 3 % from place to place, with a slope of its own in each block.
func drifting(r *rand.Rand, places int) []float64 {
	v, slope := make([]float64, places), 0.05*r.NormFloat64()
	for i := 1; i < places; i++ {
		v[i] = v[i-1] + slope + 0.03*r.NormFloat64()
	}
	return v
}

// jumping drifts, and in three blocks of ten the machine is up to 1.6 times slower, or faster, from
// some place on.
func jumping(r *rand.Rand, places int) []float64 {
	v := drifting(r, places)
	if r.Float64() < 0.3 {
		by := math.Log(1.6) * (2*r.Float64() - 1)
		for i := r.IntN(places); i < places; i++ {
			v[i] += by
		}
	}
	return v
}

func even(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() }

// bimodal is 1.4 times dearer in a tenth of its trials: a heap that grew once more, an unlucky
// placement.
func bimodal(r *rand.Rand) float64 {
	if r.Float64() < 0.1 {
		return math.Log(1.4) + even(r)
	}
	return even(r)
}

// skewed has a long tail to one side.
func skewed(r *rand.Rand) float64 { return 0.1*r.ExpFloat64() + even(r) }

// twofold is as often in either of two states.
func twofold(r *rand.Rand) float64 { return math.Log(1.4)*float64(r.IntN(2)) + even(r) }

// meet simulates blocks of a subject and a steady one of the same mean logarithm, in random order.
func meet(r *rand.Rand, blocks int, machine speed, subject log, mean float64) (a, b []Trial) {
	trials := make([][]Trial, 2)
	for block := range blocks {
		slow := machine(r, 4)
		for p, s := range palindrome(r.Perm(2)) {
			v := mean + even(r)
			if s == 0 {
				v = subject(r)
			}
			trials[s] = append(trials[s], Trial{block, p, math.Exp(v + slow[p])})
		}
	}
	return trials[0], trials[1]
}

// plainT reports whether the textbook's paired t interval of the blocks holds a ratio of 1.
func plainT(a, b []Trial) bool {
	var d []float64
	for i := 0; i < len(a); i += 2 {
		d = append(d, math.Log(a[i].Value*a[i+1].Value/b[i].Value/b[i+1].Value)/2)
	}
	n := float64(len(d))
	return math.Abs(gonum.Mean(d, nil)) <= quantile(0.975, n-1)*gonum.StdDev(d, nil)/math.Sqrt(n)
}

// coverage is how often the interval of Ratio, and that of a plain paired t, hold the truth.
func coverage(blocks int, machine speed, subject log, mean float64) (held, plain rate) {
	r := rand.New(rand.NewPCG(5, uint64(blocks)))
	for range simulations {
		a, b := meet(r, blocks, machine, subject, mean)
		e := Ratio(a, b)
		held.count(e.Low <= 1 && 1 <= e.High)
		plain.count(plainT(a, b))
	}
	return held, plain
}

func TestIntervalsHoldTheTruthOnAMachineThatDriftsAndJumps(t *testing.T) {
	for name, machine := range map[string]speed{"quiet": quiet, "drifting": drifting, "jumping": jumping} {
		for _, blocks := range []int{QuickBlocks, 10, skewBlocks, 30} {
			held, _ := coverage(blocks, machine, even, 0)
			t.Logf("%s, %d blocks: %.1f %% of the intervals hold the true ratio", name, blocks, held.percent())
			if held.percent() < 93 {
				t.Errorf("%s, %d blocks: %.1f %% of the intervals hold the true ratio, want 93 %%", name, blocks, held.percent())
			}
		}
	}
}

func TestIntervalsOfSkewedSubjectsHoldTheTruthAsOftenAsAPlainT(t *testing.T) {
	for _, c := range []struct {
		name    string
		subject log
		mean    float64
	}{
		{"1.4 times dearer in a tenth of its trials", bimodal, 0.1 * math.Log(1.4)},
		{"1.4 times dearer in half of its trials", twofold, 0.5 * math.Log(1.4)},
		{"a long tail", skewed, 0.1},
	} {
		for _, blocks := range []int{QuickBlocks, 10, skewBlocks, 30} {
			held, plain := coverage(blocks, quiet, c.subject, c.mean)
			t.Logf("%s, %d blocks: %.1f %% of the intervals hold the true ratio, %.1f %% of a plain t's", c.name, blocks, held.percent(), plain.percent())
			if held.percent() < plain.percent()-1 {
				t.Errorf("%s, %d blocks: %.1f %% of the intervals hold the true ratio, want the plain t's %.1f %%", c.name, blocks, held.percent(), plain.percent())
			}
			// 92 % less twice the error of 2,000 simulations
			if blocks >= skewBlocks && held.percent() < 91 {
				t.Errorf("%s, %d blocks, no warning: %.1f %% of the intervals hold the true ratio, want 92 %%", c.name, blocks, held.percent())
			}
		}
	}
}

func TestFewBlocksWarnOfWhatIsRare(t *testing.T) {
	for blocks, warned := range map[int]bool{QuickBlocks: true, skewBlocks - 1: true, skewBlocks: false} {
		pair := mirrored(blocks, 2, func(b, p, s int) float64 { return float64(1 + b + p + s) })
		if e := Ratio(pair[0], pair[1]); strings.Contains(e.Warning, "one trial of ten") != warned {
			t.Errorf("%d blocks: warning %q, want one of rare trials: %v", blocks, e.Warning, warned)
		}
	}
}

// No trial's value has a part in how much its block weighs.
func TestEveryBlockWeighsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPair(t)
		before := Ratio(a, b)
		k := rapid.Float64Range(0.1, 10).Draw(t, "factor")
		a[rapid.IntRange(0, len(a)-1).Draw(t, "trial")].Value *= k
		if want, got := before.Ratio*math.Pow(k, 1/float64(len(a))), Ratio(a, b).Ratio; !near(got, want) {
			t.Fatalf("one of %d trials %v times dearer makes a ratio of %v of %v, want %v", len(a), k, got, before.Ratio, want)
		}
	})
}
