package sequential

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// A noise draws the logarithm of one block's ratio of two subjects with equal geometric means.
type noise struct {
	name   string
	draw   func(r *rand.Rand) float64
	misses float64 // share of misses at the margin, where it is known to be over 1 %
	alarms float64 // share of false alarms of plans other than the gate's, where it may be over 1 %
	heavy  bool    // too much noise, or too heavy tails, for 40 blocks to find 90 % of regressions
}

// blockTrials is the number of trials in a block of package lab/gate: four of each version, since
// both take part twice.
const blockTrials = 8

// palindromic returns the logarithm of a block's ratio, from the logarithms of the machine's
// slowness at its positions. Each of the four subjects has a position and its mirror image. Each
// two neighbours are one of HEAD and one of BASE, in random order.
func palindromic(r *rand.Rand, slow [blockTrials]float64) float64 {
	d := 0.0
	for first := 0; first < blockTrials/2; first += 2 {
		head := first + r.IntN(2)
		base := 2*first + 1 - head
		d += slow[head] + slow[blockTrials-1-head] - slow[base] - slow[blockTrials-1-base]
	}
	return d / (blockTrials / 2)
}

// meanOf returns the mean of a version's four trials.
func meanOf(r *rand.Rand, trial func(r *rand.Rand) float64) float64 {
	return (trial(r) + trial(r) + trial(r) + trial(r)) / 4
}

// recorded takes blocks from a recorded series of trials of one server: an A/A comparison. Each
// block is a random section of the series.
func recorded(name string, series []float64) noise {
	return noise{name: name, draw: func(r *rand.Rand) float64 {
		at := r.IntN(len(series) - blockTrials + 1)
		return palindromic(r, [blockTrials]float64(series[at:at+blockTrials]))
	}}
}

// inOrder takes blocks from a recorded series one after the other, as a gate does: the drift over
// several blocks is kept. At its end it starts again near the start.
func inOrder(name string, series []float64) noise {
	at := len(series)
	return noise{name: name, draw: func(r *rand.Rand) float64 {
		if at += blockTrials; at+blockTrials > len(series) {
			at = r.IntN(blockTrials)
		}
		return palindromic(r, [blockTrials]float64(series[at:at+blockTrials]))
	}}
}

// both gives each trial of both subjects independent noise.
func both(name string, trial func(r *rand.Rand) float64) noise {
	return noise{name: name, draw: func(r *rand.Rand) float64 {
		return meanOf(r, trial) - meanOf(r, trial)
	}}
}

// missing notes that more regressions of exactly the margin are missed than planned.
func (n noise) missing(share float64) noise {
	n.misses = share
	return n
}

// alarming notes that plans with a narrow margin or few blocks have more false alarms than planned.
func (n noise) alarming(share float64) noise {
	n.alarms = share
	return n
}

// heavily notes that the noise is too large to find most regressions.
func (n noise) heavily() noise {
	n.heavy = true
	return n
}

// headOnly gives the trials of HEAD noise of the given mean, and those of BASE little normal noise.
func headOnly(name string, mean float64, trial func(r *rand.Rand) float64) noise {
	return noise{name: name, draw: func(r *rand.Rand) float64 {
		return meanOf(r, trial) - mean - meanOf(r, normal)
	}}
}

// baseOnly gives the trials of BASE noise of the given mean, and those of HEAD little normal noise.
func baseOnly(name string, mean float64, trial func(r *rand.Rand) float64) noise {
	return noise{name: name, draw: func(r *rand.Rand) float64 {
		return meanOf(r, normal) + mean - meanOf(r, trial)
	}}
}

func normal(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() }

// exponential has a long tail.
func exponential(r *rand.Rand) float64 { return 0.08*r.ExpFloat64() + normal(r) }

// bimodal costs 1.4 times as much in a tenth of the trials.
func bimodal(r *rand.Rand) float64 {
	if r.Float64() < 0.1 {
		return math.Log(1.4) + normal(r)
	}
	return normal(r)
}

const lognormalScale = 0.03

// lognormal is skewed even as a logarithm.
func lognormal(r *rand.Rand) float64 { return lognormalScale*math.Exp(r.NormFloat64()) + normal(r) }

// pareto multiplies the cost of one trial in twenty by a Pareto variable of infinite variance.
func pareto(r *rand.Rand) float64 {
	if r.Float64() < 0.05 {
		return normal(r) - math.Log(1-r.Float64())/1.5
	}
	return normal(r)
}

// drifting is a random walk with a slope within the block. In one block of five, the speed of the
// machine jumps by up to 1.3 at a random position.
func drifting(r *rand.Rand) float64 {
	var slow [blockTrials]float64
	slope := 0.05 * r.NormFloat64()
	for i := 1; i < blockTrials; i++ {
		slow[i] = slow[i-1] + slope + normal(r)
	}
	if r.Float64() < 0.2 {
		by := math.Log(1.3) * (2*r.Float64() - 1)
		for i := r.IntN(blockTrials); i < blockTrials; i++ {
			slow[i] += by
		}
	}
	return palindromic(r, slow)
}

func synthetic() []noise {
	return []noise{
		both("normal, 3 % a trial", normal),
		both("normal, 6 % a trial", func(r *rand.Rand) float64 { return 2 * normal(r) }),
		both("lognormal", lognormal),
		both("exponential tail", exponential),
		both("Pareto in 5 % of trials", pareto).heavily(),
		{name: "drift and jumps", draw: drifting},
		headOnly("only HEAD: lognormal", lognormalScale*math.Exp(0.5), lognormal).missing(0.04),
		headOnly("only HEAD: exponential tail", 0.08, exponential).missing(0.03),
		headOnly("only HEAD: 1.4 in 10 %", 0.1*math.Log(1.4), bimodal).missing(0.07),
		baseOnly("only BASE: 1.4 in 10 %", 0.1*math.Log(1.4), bimodal).alarming(0.08),
	}
}

// readSeries returns the logarithms of the trials of a file in the benchmark format, by subject.
func readSeries(t *testing.T, file, unit string) map[string][]float64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	series := map[string][]float64{}
	for r := benchfmt.NewReader(f, file); r.Scan(); {
		rec, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		v, ok := rec.Value(unit)
		if !ok || v <= 0 {
			t.Fatalf("a trial in %s has no %s, want the figure in all", file, unit)
		}
		key := subjectOf(rec)
		series[key] = append(series[key], math.Log(v))
	}
	return series
}

// subjectOf returns the subject in a benchmark's name.
func subjectOf(r *benchfmt.Result) string {
	_, parts := r.Name.Parts()
	for _, p := range parts {
		if v, ok := strings.CutPrefix(string(p), "/subject="); ok {
			return v
		}
	}
	return ""
}

// recordings are the files of recorded trials.
var recordings = []struct {
	file, unit, what string
	heavy            bool
	alarms           float64
}{
	{"../testdata/drift.txt", "us/msg", "recorded CPU", false, 0},
	{"../testdata/disturbed.txt", "us/msg", "disturbed CPU", true, 0},
	{"testdata/gate-quiet.txt", "us/msg", "quiet gate", true, 0},
	{"testdata/gate-busy.txt", "us/msg", "busy gate", true, 0},
	{"testdata/gate-busy-closed.txt", "us/req", "busy closed loop", true, 0},
	{"testdata/rejected.txt", "us/msg", "rejected CPU", true, 0.02},
	{"testdata/rejected-rate.txt", "req/s", "rejected rate", true, 0.03},
}

func allNoises(t *testing.T) []noise {
	t.Helper()
	all := synthetic()
	for _, c := range recordings {
		series := readSeries(t, c.file, c.unit)
		for _, subject := range slices.Sorted(maps.Keys(series)) {
			for _, n := range []noise{recorded(c.what+", "+subject, series[subject]), inOrder(c.what+" in order, "+subject, series[subject])} {
				n.heavy, n.alarms = c.heavy, c.alarms
				all = append(all, n)
			}
		}
	}
	return all
}
