package sequential

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// FirstLook is the number of blocks of the first possible look. Fewer blocks are Undecided.
	FirstLook = 3
	// MaxBlocks limits the time of New to about a tenth of a second.
	MaxBlocks = 200
	// noSpread is a standard deviation of logarithms that rounding alone may have.
	noSpread = 1e-12
)

// A Plan is fixed before the first block. A plan that is changed after a look voids the error
// rates.
type Plan struct {
	Margin     float64 // relative, over 0: 0.05 tolerates a ratio of up to 1.05
	Confidence float64 // of each limit of the interval, over all looks: 0.99
	Blocks     int     // most blocks, FirstLook to MaxBlocks
	// whether the verdicts are Different and Equivalent, in place of Worse and NoWorse
	TwoSided bool
}

// A Verdict is what the blocks so far show.
type Verdict int

const (
	Undecided  Verdict = iota // the interval allows more than one answer: run more blocks
	NoWorse                   // the interval lies below 1 + margin
	Worse                     // the interval lies above 1, and the estimate above 1 + margin
	Different                 // the interval does not contain 1
	Equivalent                // the interval lies within 1/(1+margin) and 1 + margin
)

func (v Verdict) String() string {
	switch v {
	case NoWorse:
		return "no worse"
	case Worse:
		return "worse"
	case Different:
		return "different"
	case Equivalent:
		return "equivalent"
	}
	return "undecided"
}

// A Decision is the state of a test after a block.
type Decision struct {
	Verdict Verdict
	Blocks  int
	Looks   int // blocks so far after which a verdict was possible
	// Ratio is HEAD/BASE, of the geometric means over the blocks. A test that stops early at Worse
	// overestimates it, since it stops at blocks that are above average.
	Ratio float64
	// Low and High are the confidence interval of this look: over all looks together, each limit
	// is on the wrong side of the true ratio with a probability of at most 1 - Confidence. A look
	// without an interval has 0 and +Inf.
	Low, High float64
}

// A Test takes the blocks' ratios as they arrive. It is not safe for concurrent use.
type Test struct {
	plan Plan
	// widths holds, by number of blocks - 1, half the width of the interval in standard deviations
	// of a block. It is +Inf where there is no look.
	widths []float64
	logs   []float64 // of the ratios so far
	last   Decision
	closed bool // whether Close ended the test
}

// New returns a test without blocks.
func New(p Plan) (*Test, error) {
	switch {
	case !(p.Margin > 0) || math.IsInf(p.Margin, 0):
		return nil, fmt.Errorf("sequential: margin %v: want a finite number over 0", p.Margin)
	case !(p.Confidence > 0.5 && p.Confidence < 1):
		return nil, fmt.Errorf("sequential: confidence %v: want over 0.5 and under 1", p.Confidence)
	case p.Blocks < FirstLook || p.Blocks > MaxBlocks:
		return nil, fmt.Errorf("sequential: %d blocks: want %d to %d", p.Blocks, FirstLook, MaxBlocks)
	}
	return &Test{plan: p, widths: widths(levels(1-p.Confidence, p.Blocks, FirstLook)), last: Decision{High: math.Inf(1)}}, nil
}

// widths converts the significance levels of the looks.
func widths(levels []float64) []float64 {
	w := make([]float64, len(levels))
	for i, level := range levels {
		w[i] = math.Inf(1)
		if level > 0 {
			student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(i)}
			w[i] = -student.Quantile(level) / math.Sqrt(float64(i+1))
		}
	}
	return w
}

// ErrEnded is the error of a block after a verdict, after the plan's last block, or after Close.
var ErrEnded = errors.New("sequential: the test has ended: it takes no more blocks")

// Add takes the ratio HEAD/BASE of one block, and returns the decision on all blocks so far. More
// must be worse: of a rate, give the inverse. A ratio that is not a finite number over 0 is an
// error and changes nothing.
func (t *Test) Add(ratio float64) (Decision, error) {
	if !(ratio > 0) || math.IsInf(ratio, 1) {
		return t.last, fmt.Errorf("sequential: block %d has the ratio %v: want a finite number over 0", len(t.logs)+1, ratio)
	}
	if t.Ended() {
		return t.last, ErrEnded
	}
	t.logs = append(t.logs, math.Log(ratio))
	t.last = t.decide()
	return t.last, nil
}

// Ended reports whether the test takes no more blocks.
func (t *Test) Ended() bool {
	return t.closed || t.last.Verdict != Undecided || len(t.logs) == t.plan.Blocks
}

// Close ends a test before its planned blocks, and returns its last decision. The last look, if
// there were FirstLook blocks, spends the rest of the error. The reason must not depend on the
// blocks' ratios: the time is over, or blocks were lost. Otherwise the error rates do not hold.
func (t *Test) Close() Decision {
	n := len(t.logs)
	if !t.Ended() && n >= FirstLook {
		t.widths = widths(levelsUntil(1-t.plan.Confidence, t.plan.Blocks, FirstLook, n, true))
		t.last = t.decide()
	}
	t.closed = true
	return t.last
}

func (t *Test) decide() Decision {
	n := len(t.logs)
	mean, half := stat.Mean(t.logs, nil), math.Inf(1)
	if sd := stat.StdDev(t.logs, nil); sd > noSpread {
		half = t.widths[n-1] * sd
	}
	d := Decision{Blocks: n, Ratio: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)}
	for _, width := range t.widths[:n] {
		if !math.IsInf(width, 1) {
			d.Looks++
		}
	}
	d.Verdict = t.plan.verdict(d)
	return d
}

// verdict returns the verdict of an estimate and its interval.
func (p Plan) verdict(d Decision) Verdict {
	limit := 1 + p.Margin
	switch {
	case p.TwoSided && (d.Low > 1 || d.High < 1):
		return Different
	case p.TwoSided && d.Low > 1/limit && d.High < limit:
		return Equivalent
	case p.TwoSided:
		return Undecided
	case d.High < limit:
		return NoWorse
	case d.Low > 1 && d.Ratio > limit:
		return Worse
	}
	return Undecided
}
