package sequential

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"weir/internal/testsize"
)

// uncorrected is the ordinary t interval at each look.
func uncorrected(p Plan) []float64 {
	return widthsOf(p, func(n float64) float64 {
		return -distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1-p.Confidence) / math.Sqrt(n)
	})
}

// mixture is a confidence sequence by the t mixture: the likelihood ratio of Student's t with a
// normal prior of the given standard deviation on the effect (in standard deviations of a block) is
// a martingale under the hypothesis (Robbins 1970, Lai 1976). It is valid at any block without a
// planned number of blocks.
func mixture(prior float64) func(p Plan) []float64 {
	return func(p Plan) []float64 {
		return widthsOf(p, func(n float64) float64 {
			g := 1 + n*prior*prior
			k := math.Pow(math.Sqrt(g)/(2*(1-p.Confidence)), 2/n) // both sides have 1-Confidence
			if k >= g {
				return math.Inf(1)
			}
			return math.Sqrt((n - 1) * (k - 1) / (1 - k/g) / n)
		})
	}
}

// symmetric is the self-normalised normal mixture of de la Peña (1999), valid for any symmetric
// noise: (1+v*q)^-0.5 exp(v*s²/(2(1+v*q))), with the sum s and the sum of squares q of the
// differences to the hypothesis. Here v*q is replaced by v*n, as if the blocks were scaled to unit
// variance, which the exact procedure cannot do: its figures here are the best it can reach.
func symmetric(p Plan) []float64 {
	return widthsOf(p, func(n float64) float64 {
		const v = 0.3
		// s² = bound * q with q = (n-1)*sd² + s²/n
		bound := (1 + 1/(v*n)) * (math.Log(1+v*n) - 2*math.Log(2*(1-p.Confidence)))
		if bound >= n {
			return math.Inf(1)
		}
		return math.Sqrt(bound * (n - 1) / (1 - bound/n) / (n * n))
	})
}

func widthsOf(p Plan, width func(n float64) float64) []float64 {
	w := make([]float64, p.Blocks)
	for i := range w {
		w[i] = math.Inf(1)
		if i+1 >= FirstLook {
			w[i] = width(float64(i + 1))
		}
	}
	return w
}

// TestProceduresCompared prints the error rates of the procedures that docs/adr/0033 compares. It
// runs only with WEIR_GATE_SIMULATIONS, since it asserts only that correction is needed.
func TestProceduresCompared(t *testing.T) {
	tests := testsize.Of(t, "WEIR_GATE_SIMULATIONS", 1)
	if tests == 1 {
		t.Skip("set WEIR_GATE_SIMULATIONS, for example to 10000")
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-39s %-18s %8s %8s %8s %8s %8s %8s\n", "noise", "procedure", "1 worse", "1 no w.", "blocks", "1.025 no", "1.05 w.", "blocks")
	for _, n := range allNoises(t) {
		for _, c := range []struct {
			name   string
			widths func(p Plan) []float64
		}{
			{"spending", func(p Plan) []float64 { return widths(levels(1-p.Confidence, p.Blocks, FirstLook)) }}, {"uncorrected t", uncorrected}, {"t mixture, 0.5", mixture(0.5)},
			{"t mixture, 1", mixture(1)}, {"symmetric mixture", symmetric},
		} {
			like := &Test{plan: gate, widths: c.widths(gate)}
			equal, margin, twice := simulate(t, like, n, 1, tests), simulate(t, like, n, 1+gate.Margin, tests), simulate(t, like, n, 1.05, tests)
			fmt.Fprintf(&table, "%-39s %-18s %7.2f%% %7.1f%% %8.1f %7.2f%% %7.1f%% %8.1f\n", n.name, c.name,
				100*equal.share(Worse), 100*equal.share(NoWorse), equal.meanBlocks(), 100*margin.share(NoWorse), 100*twice.share(Worse), twice.meanBlocks())
		}
	}
	t.Logf("%d tests\n%s", tests, table.String())
}
