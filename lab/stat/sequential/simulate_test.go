package sequential

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/internal/testsize"
)

// The simulated gate: package lab/gate with a confidence of 99 %, of whose error it spends half. 40
// blocks of 7.3 s fit into five minutes.
var gate = Plan{Margin: 0.025, Confidence: 0.995, Blocks: 40}

// falseAlarms is the largest share of equal programs that may be called worse.
const falseAlarms = 0.01

// outcomes counts the verdicts of simulated tests.
type outcomes struct {
	of       int
	verdicts [5]int // by Verdict
	blocks   int    // of all tests
}

func (o outcomes) share(v Verdict) float64 { return float64(o.verdicts[v]) / float64(o.of) }

func (o outcomes) meanBlocks() float64 { return float64(o.blocks) / float64(o.of) }

// atMost reports whether the share of a verdict is compatible with a probability of at most limit:
// it is under limit and three standard errors.
func (o outcomes) atMost(v Verdict, limit float64) bool {
	return o.share(v) <= limit+3*math.Sqrt(limit*(1-limit)/float64(o.of))
}

// simulate runs tests like the given one on blocks of the given true ratio.
func simulate(t *testing.T, like *Test, n noise, ratio float64, tests int) outcomes {
	t.Helper()
	o := outcomes{of: tests}
	r := rand.New(rand.NewPCG(33, math.Float64bits(ratio)))
	for range tests {
		test := *like
		for test.last.Verdict == Undecided && test.last.Blocks < like.plan.Blocks {
			if _, err := test.Add(ratio * math.Exp(n.draw(r))); err != nil {
				t.Fatal(err)
			}
		}
		o.verdicts[test.last.Verdict]++
		o.blocks += test.last.Blocks
	}
	return o
}

// trueRatios are equality, the margin, twice the margin, and a tenth.
var trueRatios = []float64{1, 1.025, 1.05, 1.1}

// TestErrorRates checks the error rates of doc.go, and prints them with -v. WEIR_GATE_SIMULATIONS
// sets the number of simulated tests of each noise and true ratio.
func TestErrorRates(t *testing.T) {
	tests := testsize.Of(t, "WEIR_GATE_SIMULATIONS", 300)
	like := newTest(t, gate)
	var table strings.Builder
	fmt.Fprintf(&table, "%-39s %6s %7s %8s %10s %6s\n", "noise", "ratio", "worse", "no worse", "undecided", "blocks")
	for _, n := range allNoises(t) {
		for _, ratio := range trueRatios {
			o := simulate(t, like, n, ratio, tests)
			fmt.Fprintf(&table, "%-39s %6.5g %6.1f%% %7.1f%% %9.1f%% %6.1f\n", n.name, ratio,
				100*o.share(Worse), 100*o.share(NoWorse), 100*o.share(Undecided), o.meanBlocks())
			checkErrors(t, n, ratio, o)
		}
	}
	t.Logf("%d tests of at most %d blocks, margin %g, confidence %g\n%s", tests, gate.Blocks, gate.Margin, gate.Confidence, table.String())
}

func checkErrors(t *testing.T, n noise, ratio float64, o outcomes) {
	t.Helper()
	const misses = 0.01
	switch {
	case ratio <= 1 && !o.atMost(Worse, falseAlarms):
		t.Errorf("%s, ratio %v: got %.2f %% worse, want at most %v %%", n.name, ratio, 100*o.share(Worse), 100*falseAlarms)
	case ratio >= 1+gate.Margin && !o.atMost(NoWorse, max(misses, n.misses)):
		t.Errorf("%s, ratio %v: got %.2f %% no worse, want at most %v %%", n.name, ratio, 100*o.share(NoWorse), 100*max(misses, n.misses))
	case ratio >= 1.05 && !n.heavy && o.share(Worse) < 0.9:
		t.Errorf("%s, ratio %v: got %.1f %% worse, want at least 90 %%", n.name, ratio, 100*o.share(Worse))
	}
}

// TestOtherPlansKeepTheRateOfFalseAlarms checks shorter and longer gates, and a wider margin.
func TestOtherPlansKeepTheRateOfFalseAlarms(t *testing.T) {
	tests := testsize.Of(t, "WEIR_GATE_SIMULATIONS", 300)
	for _, other := range []Plan{
		{Margin: 0.025, Confidence: 0.995, Blocks: FirstLook}, {Margin: 0.025, Confidence: 0.99, Blocks: 5},
		{Margin: 0.025, Confidence: 0.995, Blocks: 10}, {Margin: 0.025, Confidence: 0.99, Blocks: 20},
		{Margin: 0.025, Confidence: 0.995, Blocks: 100}, {Margin: 0.05, Confidence: 0.99, Blocks: 50},
	} {
		like := newTest(t, other)
		for _, n := range allNoises(t) {
			equal := simulate(t, like, n, 1, tests)
			t.Logf("%d blocks, margin %v, %-39s equal: %.2f %% worse", other.Blocks, other.Margin, n.name, 100*equal.share(Worse))
			if limit := max(falseAlarms, n.alarms); !equal.atMost(Worse, limit) {
				t.Errorf("%d blocks, margin %v, %s: got %.2f %% worse for equal costs, want at most %v %%", other.Blocks, other.Margin, n.name, 100*equal.share(Worse), 100*limit)
			}
		}
	}
}
