package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	gonum "gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// A log draws the logarithm of a subject's cost in one trial from a distribution.
type log func(r *rand.Rand) float64

// A speed draws the logarithms of the machine's slowness at the positions of a block.
type speed func(r *rand.Rand, places int) []float64

func quiet(r *rand.Rand, places int) []float64 { return make([]float64, places) }

// drifting is a random walk with steps of 3 % and a random slope in each block.
func drifting(r *rand.Rand, places int) []float64 {
	v, slope := make([]float64, places), 0.05*r.NormFloat64()
	for i := 1; i < places; i++ {
		v[i] = v[i-1] + slope + 0.03*r.NormFloat64()
	}
	return v
}

// jumping drifts, and in three blocks of ten the speed changes by a factor of up to 1.6 at a random
// position.
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

// bimodal costs 1.4 times as much in a tenth of its trials, as with one more growth of the heap.
func bimodal(r *rand.Rand) float64 {
	if r.Float64() < 0.1 {
		return math.Log(1.4) + even(r)
	}
	return even(r)
}

// skewed adds an exponential tail.
func skewed(r *rand.Rand) float64 { return 0.1*r.ExpFloat64() + even(r) }

// twofold costs 1.4 times as much in half of its trials.
func twofold(r *rand.Rand) float64 { return math.Log(1.4)*float64(r.IntN(2)) + even(r) }

// meet simulates blocks of a subject and of a steady one with the given mean logarithm, in random
// order.
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

// plainT reports whether the textbook's paired t interval over the blocks contains a ratio of 1.
func plainT(a, b []Trial) bool {
	var d []float64
	for i := 0; i < len(a); i += 2 {
		d = append(d, math.Log(a[i].Value*a[i+1].Value/b[i].Value/b[i+1].Value)/2)
	}
	n := float64(len(d))
	return math.Abs(gonum.Mean(d, nil)) <= quantile(0.975, n-1)*gonum.StdDev(d, nil)/math.Sqrt(n)
}

// coverage counts how often the interval of PairedRatio, and that of a textbook paired t test,
// contain the true ratio.
func coverage(blocks int, machine speed, subject log, mean float64) (held, plain rate) {
	r := rand.New(rand.NewPCG(5, uint64(blocks)))
	for range simulations {
		a, b := meet(r, blocks, machine, subject, mean)
		e := PairedRatio(a, b)
		held.count(e.Low <= 1 && 1 <= e.High)
		plain.count(plainT(a, b))
	}
	return held, plain
}

func TestIntervalsReachTheirCoverageOnAMachineThatDriftsAndJumps(t *testing.T) {
	for name, machine := range map[string]speed{"quiet": quiet, "drifting": drifting, "jumping": jumping} {
		for _, blocks := range []int{QuickBlocks, 10, skewBlocks, 30} {
			held, _ := coverage(blocks, machine, even, 0)
			t.Logf("%s, %d blocks: %.1f %% of the intervals contain the true ratio", name, blocks, held.percent())
			if held.percent() < 93 {
				t.Errorf("%s, %d blocks: got a coverage of %.1f %%, want 93 %%", name, blocks, held.percent())
			}
		}
	}
}

func TestIntervalsOfSkewedSubjectsCoverAsOftenAsAPlainT(t *testing.T) {
	for _, c := range []struct {
		name    string
		subject log
		mean    float64
	}{
		{"1.4 times the cost in a tenth of its trials", bimodal, 0.1 * math.Log(1.4)},
		{"1.4 times the cost in half of its trials", twofold, 0.5 * math.Log(1.4)},
		{"a long tail", skewed, 0.1},
	} {
		for _, blocks := range []int{QuickBlocks, 10, skewBlocks, 30} {
			held, plain := coverage(blocks, quiet, c.subject, c.mean)
			t.Logf("%s, %d blocks: %.1f %% of the intervals contain the true ratio, %.1f %% of a plain t test's", c.name, blocks, held.percent(), plain.percent())
			if held.percent() < plain.percent()-1 {
				t.Errorf("%s, %d blocks: got a coverage of %.1f %%, want the plain t test's %.1f %%", c.name, blocks, held.percent(), plain.percent())
			}
			// 92 % minus twice the standard error of 2,000 simulations
			if blocks >= skewBlocks && held.percent() < 91 {
				t.Errorf("%s, %d blocks, no warning: got a coverage of %.1f %%, want 92 %%", c.name, blocks, held.percent())
			}
		}
	}
}

func TestFewBlocksWarnOfRareCosts(t *testing.T) {
	for blocks, warned := range map[int]bool{QuickBlocks: true, skewBlocks - 1: true, skewBlocks: false} {
		pair := mirrored(blocks, 2, func(b, p, s int) float64 { return float64(1 + b + p + s) })
		if e := PairedRatio(pair[0], pair[1]); strings.Contains(e.Warning, "one trial of ten") != warned {
			t.Errorf("%d blocks: warning %q, want one of rare trials: %v", blocks, e.Warning, warned)
		}
	}
}

// TestAllBlocksHaveTheSameWeight checks that the values of a block's trials do not change its
// weight.
func TestAllBlocksHaveTheSameWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPair(t)
		before := PairedRatio(a, b)
		k := rapid.Float64Range(0.1, 10).Draw(t, "factor")
		a[rapid.IntRange(0, len(a)-1).Draw(t, "trial")].Value *= k
		if want, got := before.Ratio*math.Pow(k, 1/float64(len(a))), PairedRatio(a, b).Ratio; !near(got, want) {
			t.Fatalf("one of %d trials costs %v times as much: the ratio changes from %v to %v, want %v", len(a), k, before.Ratio, got, want)
		}
	})
}
