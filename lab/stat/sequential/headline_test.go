package sequential

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/testsize"
)

// headlineTrials is the number of trials in a block of a run's headline: two of each of its
// subjects and of the A/A control.
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

// rarely is the noise of a headline with one steady subject and one of the given mean.
func rarely(name string, mean, alarms float64, trial func(r *rand.Rand) float64) noise {
	return noise{name: name, alarms: alarms, draw: func(r *rand.Rand) float64 {
		return (trial(r)+trial(r))/2 - mean - (normal(r)+normal(r))/2
	}}
}

// headlineNoises are the recorded ones, and those of subjects that differ in their noise. Those of
// busy machines are heavy.
func headlineNoises(t *testing.T) (all []noise) {
	t.Helper()
	all = []noise{
		rarely("both steady", 0, 0, normal),
		rarely("one with an exponential tail", 0.08, 0.08, exponential),
		rarely("one that costs 1.4 in 10 %", 0.1*math.Log(1.4), 0.20, bimodal).heavily(),
	}
	for _, c := range recordings {
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

// headlineBlocks are numbers of blocks that quick runs plan (lab,
// TestQuickFormsHaveTimeForTheirHeadline): 3 of requests, 5 of pipes, 6 of im, 9 of longer ones.
var headlineBlocks = []int{3, 4, 5, 6, 9}

// TestHeadlineIsDecided checks the error rates of headlines, and their power where the noise is
// that of trials that the lab accepted. It prints them with -v. WEIR_HEADLINE_SIMULATIONS sets the
// number of simulated headlines of each noise, ratio and number of blocks.
func TestHeadlineIsDecided(t *testing.T) {
	tests := testsize.Of(t, "WEIR_HEADLINE_SIMULATIONS", 100)
	var table strings.Builder
	fmt.Fprintf(&table, "%-46s %6s %6s %9s %10s %9s %6s\n", "noise", "blocks", "ratio", "different", "equivalent", "undecided", "mean")
	for _, n := range headlineNoises(t) {
		for _, blocks := range headlineBlocks {
			like := newTest(t, headlinePlan(blocks))
			for _, ratio := range []float64{1, 1.05, 1.1, 1.3} {
				o := simulate(t, like, n, ratio, tests)
				fmt.Fprintf(&table, "%-46s %6d %6.5g %8.1f%% %9.1f%% %8.1f%% %6.1f\n", n.name, blocks, ratio,
					100*o.share(Different), 100*o.share(Equivalent), 100*o.share(Undecided), o.meanBlocks())
				checkHeadline(t, fmt.Sprintf("%s, %d blocks, ratio %v", n.name, blocks, ratio), n, ratio, o)
			}
		}
	}
	t.Logf("%d headlines\n%s", tests, table.String())
}

func checkHeadline(t *testing.T, name string, n noise, ratio float64, o outcomes) {
	t.Helper()
	allowed := max(0.05, n.alarms)
	switch {
	case ratio == 1 && !o.atMost(Different, allowed):
		t.Errorf("%s: got %.1f %% different, want at most %v %%", name, 100*o.share(Different), 100*allowed)
	case ratio >= 1.05 && !o.atMost(Equivalent, allowed):
		t.Errorf("%s: got %.1f %% equivalent, want at most %v %%", name, 100*o.share(Equivalent), 100*allowed)
	case ratio >= 1.3 && !n.heavy && o.share(Different) < 0.9-3*math.Sqrt(0.09/float64(o.of)):
		t.Errorf("%s: got %.1f %% different, want at least 90 %%", name, 100*o.share(Different))
	}
}

// TestHeadlineThatEndsEarlyKeepsItsErrorRate loses the last blocks, as if the time were over, and
// takes the last look with the rest of the error.
func TestHeadlineThatEndsEarlyKeepsItsErrorRate(t *testing.T) {
	tests := testsize.Of(t, "WEIR_HEADLINE_SIMULATIONS", 100)
	for _, n := range headlineNoises(t) {
		like, r := newTest(t, headlinePlan(8)), rand.New(rand.NewPCG(33, 1))
		o := outcomes{of: tests}
		for range tests {
			test := *like
			for range 3 + r.IntN(5) {
				if _, err := test.Add(math.Exp(n.draw(r))); err != nil {
					break
				}
			}
			o.verdicts[test.Close().Verdict]++
		}
		if !o.atMost(Different, max(0.05, n.alarms)) {
			t.Errorf("%s: got %.1f %% different for equal costs, want at most 5 %%", n.name, 100*o.share(Different))
		}
	}
}

func TestTwoSidedVerdicts(t *testing.T) {
	for _, c := range []struct {
		name          string
		ratio, spread float64
		want          Verdict
	}{
		{"equal", 1, 0.01, Equivalent},
		{"less", 0.8, 0.02, Different},
		{"more", 1.25, 0.02, Different},
		{"different by less than the margin", 1.02, 0.001, Different},
		{"too noisy to tell", 1.05, 0.3, Undecided},
	} {
		d := decide(t, headlinePlan(8), around(c.ratio, c.spread, 8)...)
		if d.Verdict != c.want || d.Looks > d.Blocks-FirstLook+1 {
			t.Errorf("%s: got %+v, want %s after at most one look a block", c.name, d, c.want)
		}
	}
}

func TestPAgreesWithTheVerdict(t *testing.T) {
	like := newTest(t, headlinePlan(6))
	rapid.Check(t, func(t *rapid.T) {
		test := *like
		for _, ratio := range rapid.SliceOfN(rapid.Float64Range(0.7, 2), 1, 6).Draw(t, "ratios") {
			if _, err := test.Add(ratio); err != nil {
				break
			}
		}
		if rapid.Bool().Draw(t, "the time is over") {
			test.Close()
		}
		p, level := test.P(), 2*(1-like.plan.Confidence)
		if different := test.last.Verdict == Different; different && p > 1.01*level || !different && p < 0.99*level {
			t.Fatalf("got p %v and %+v, want p under %v if and only if it is different", p, test.last, level)
		}
	})
}

func TestAClosedTestTakesNoMoreBlocks(t *testing.T) {
	test := newTest(t, headlinePlan(6))
	for _, ratio := range around(1.2, 0.1, 4) {
		if _, err := test.Add(ratio); err != nil {
			t.Fatal(err)
		}
	}
	last := test.Close()
	if d, err := test.Add(1.2); !errors.Is(err, ErrEnded) || d != last || test.Close() != last {
		t.Errorf("got %+v and error %v, want the unchanged %+v and %v", d, err, last, ErrEnded)
	}
	if d := newTest(t, headlinePlan(6)).Close(); d.Verdict != Undecided || d.Looks != 0 {
		t.Errorf("closed without a block: got %+v, want it undecided without a look", d)
	}
}
