package sequential

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/internal/testsize"
)

// headlineTrials is the number of trials in a block of a run's headline: two of each of its subjects
// and of the A/A control.
const headlineTrials = 6

// headlinePlan is the test of a headline, as lab/compare plans it: 2 % at each limit.
func headlinePlan(blocks int) Plan {
	return Plan{Margin: 0.05, Confidence: 0.98, Blocks: blocks, TwoSided: true}
}

// triple returns the logarithm of the ratio of the first two of three subjects in a palindromic
// block, from the logarithms of the machine's slowness at its positions.
func triple(r *rand.Rand, slow []float64) float64 {
	at := r.Perm(headlineTrials / 2)
	pair := func(i int) float64 { return (slow[i] + slow[headlineTrials-1-i]) / 2 }
	return pair(at[0]) - pair(at[1])
}

// section takes blocks from random places of a recorded series.
func section(name string, series []float64) noise {
	return noise{name: name, draw: func(r *rand.Rand) float64 {
		at := r.IntN(len(series) - headlineTrials + 1)
		return triple(r, series[at:at+headlineTrials])
	}}
}

// follow takes blocks from a recorded series one after the other, as a run does.
func follow(name string, series []float64) noise {
	at := len(series)
	return noise{name: name, draw: func(r *rand.Rand) float64 {
		if at += headlineTrials; at+headlineTrials > len(series) {
			at = r.IntN(headlineTrials)
		}
		return triple(r, series[at:at+headlineTrials])
	}}
}

func headlineNoises(t *testing.T) (all []noise) {
	t.Helper()
	for _, c := range []struct {
		file, unit, what string
		heavy            bool
	}{
		{"../testdata/drift.txt", "us/msg", "recorded CPU", false},
		{"../testdata/disturbed.txt", "us/msg", "disturbed CPU", true},
		{"testdata/gate-busy.txt", "us/msg", "busy gate", true},
		{"testdata/gate-busy-closed.txt", "us/req", "busy closed loop", true},
		{"testdata/rejected.txt", "us/msg", "rejected CPU", true},
		{"testdata/rejected-rate.txt", "req/s", "rejected rate", true},
	} {
		series := readSeries(t, c.file, c.unit)
		for _, subject := range slices.Sorted(maps.Keys(series)) {
			for _, n := range []noise{section(c.what+", "+subject, series[subject]), follow(c.what+" in order, "+subject, series[subject])} {
				n.heavy = c.heavy
				all = append(all, n)
			}
		}
	}
	return all
}

func TestHeadlineErrorRates(t *testing.T) {
	tests := testsize.Of(t, "WEIR_HEADLINE_SIMULATIONS", 300)
	var table strings.Builder
	for _, blocks := range []int{3, 4, 5, 6, 8, 10} {
		like := newTest(t, headlinePlan(blocks))
		for _, n := range headlineNoises(t) {
			for _, ratio := range []float64{1, 1.05, 1.1, 1.2, 1.3} {
				o := simulate(t, like, n, ratio, tests)
				fmt.Fprintf(&table, "%d %-45s %6.5g %6.1f%% %7.1f%% %9.1f%% %6.1f\n", blocks, n.name, ratio,
					100*o.share(Different), 100*o.share(Equivalent), 100*o.share(Undecided), o.meanBlocks())
			}
		}
	}
	_ = math.Pi
	t.Log("\n" + table.String())
}
