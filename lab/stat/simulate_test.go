package stat

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"weir/lab/result"
)

// The simulations repeat the quick plan, with all its cells in one family, and with the drift of a
// real machine. A block is a random section of a recorded series of trials of one server
// (testdata/drift.txt, which says how it was recorded). Its values are assigned to the subjects in
// palindromic order and multiplied by the subjects' true costs.
const (
	simulations   = 2000 // of two subjects
	wholeRuns     = 1000 // each with three cells
	quickSubjects = 4
	quickCells    = 3 // one for each arrival pattern
	doubled       = 2 * QuickBlocks
	tenthBlocks   = 12 // blocks that detect a difference of 10 % with a power of 90 %
)

// A series is one server's trials in the order in which they ran.
type series []float64

// readSeries reads the recorded trials by arrival pattern, in the given unit.
func readSeries(t *testing.T, file, unit string) map[string]series {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recorded := map[string]series{}
	r := benchfmt.NewReader(f, file)
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			v, ok := rec.Value(unit)
			if !ok {
				t.Fatalf("a trial in %s has no %s, want the figure in all", file, unit)
			}
			p := pattern(rec)
			recorded[p] = append(recorded[p], v)
		case *benchfmt.SyntaxError:
			t.Fatalf("%s: got the syntax error %v, want the format of benchmarks", file, rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return recorded
}

func pattern(r *benchfmt.Result) string {
	_, parts := r.Name.Parts()
	for _, p := range parts {
		if name, ok := strings.CutPrefix(string(p), "/pattern="); ok {
			return name
		}
	}
	return ""
}

// run simulates one cell of a plan: the trials of each subject, whose cost is its factor times a
// recorded value.
func (s series) run(r *rand.Rand, blocks int, factor []float64) [][]Trial {
	n := len(factor)
	trials := make([][]Trial, n)
	for b := range blocks {
		start := r.IntN(len(s) - 2*n + 1)
		for p, subject := range palindrome(r.Perm(n)) {
			trials[subject] = append(trials[subject], Trial{b, p, factor[subject] * s[start+p]})
		}
	}
	return trials
}

func palindrome(order []int) []int {
	mirror := slices.Clone(order)
	slices.Reverse(mirror)
	return append(order, mirror...)
}

// An estimator compares two subjects' trials in a cell.
type estimator func(a, b []Trial) Estimate

// spreads is CVRatio on trials whose values are coefficients of variation of three windows, as
// recorded.
func spreads(a, b []Trial) Estimate {
	of := func(trials []Trial) []sumOfSquares {
		all := make([]sumOfSquares, len(trials))
		for i, t := range trials {
			all[i] = sumOfSquares{t.Block, 2 * t.Value * t.Value, 2}
		}
		return all
	}
	return cvRatio(of(a), of(b))
}

// family returns the comparisons of a run: in every cell all pairs of the subjects, and the first
// subject with its A/A control, which is last in trials.
func (s series) family(r *rand.Rand, blocks int, factor []float64, estimate estimator) []Estimate {
	var f []Estimate
	for range quickCells {
		trials := s.run(r, blocks, factor)
		control := len(trials) - 1
		f = append(f, estimate(trials[0], trials[control]))
		for a := range control {
			for b := a + 1; b < control; b++ {
				f = append(f, estimate(trials[a], trials[b]))
			}
		}
	}
	return f
}

func equalCosts() []float64 { return slices.Repeat([]float64{1}, quickSubjects+1) }

// A rate counts how often something happened.
type rate struct{ hits, of int }

func (r *rate) count(hit bool) {
	r.of++
	if hit {
		r.hits++
	}
}

func (r rate) percent() float64 { return 100 * float64(r.hits) / float64(r.of) }

func TestASubjectIsNotDifferentFromItself(t *testing.T) {
	for _, c := range []struct {
		file, unit string
		estimate   estimator
	}{
		{"testdata/drift.txt", "us/msg", PairedRatio}, {"testdata/drift.txt", "cpu-cv", spreads}, {"testdata/disturbed.txt", "us/msg", PairedRatio},
	} {
		for name, s := range readSeries(t, c.file, c.unit) {
			for _, blocks := range []int{QuickBlocks, doubled} {
				control, anyPair, missed := falseAlarms(s, blocks, c.estimate)
				t.Logf("%s %s %s, %d blocks: the A/A control is called different in %.1f %% of runs, any pair in %.1f %%; %.1f %% of the intervals exclude 1",
					c.file, name, c.unit, blocks, control.percent(), anyPair.percent(), missed.percent())
				if control.percent() > 5 || anyPair.percent() > 5 {
					t.Errorf("got a false difference in %.1f %% of runs (A/A control) and %.1f %% (any pair), want at most 5 %%", control.percent(), anyPair.percent())
				}
				if missed.percent() > 6 { // 5 % and over twice the standard error of 3,000 cells
					t.Errorf("got %.1f %% of intervals that exclude the true ratio, want at most 6 %%", missed.percent())
				}
			}
		}
	}
}

// falseAlarms counts false differences in runs of subjects that all cost the same: those of the A/A
// control, those of any pair, and the control's intervals that exclude 1.
func falseAlarms(s series, blocks int, estimate estimator) (control, anyPair, missed rate) {
	r := rand.New(rand.NewPCG(1, uint64(blocks)))
	for range wholeRuns {
		f := s.family(r, blocks, equalCosts(), estimate)
		verdicts := Judge(f, 0.05)
		controlDiffers := false
		for at := 0; at < len(f); at += len(f) / quickCells {
			controlDiffers = controlDiffers || verdicts[at].Word == result.Different
			missed.count(f[at].Low > 1 || f[at].High < 1)
		}
		control.count(controlDiffers)
		anyPair.count(slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Word == result.Different }))
	}
	return control, anyPair, missed
}

// TestTheStatedPowerIsReached checks the power that docs/experiments.md states, in whole quick runs
// with the recorded drift.
func TestTheStatedPowerIsReached(t *testing.T) {
	for name, s := range readSeries(t, "testdata/drift.txt", "us/msg") {
		for _, c := range []struct {
			blocks        int
			factor, least float64
		}{
			{QuickBlocks, 1.1, 0}, {QuickBlocks, 1.2, 75}, {doubled, 1.1, 85}, {tenthBlocks, 1.1, 90},
		} {
			found := findings(s, c.blocks, c.factor)
			t.Logf("%s, %d blocks: a difference of %.0f %% is detected in %.1f %%", name, c.blocks, 100*(c.factor-1), found.percent())
			if found.percent() < c.least {
				t.Errorf("%s, %d blocks: got a power of %.1f %% for a difference of %.0f %%, want %v %%", name, c.blocks, found.percent(), 100*(c.factor-1), c.least)
			}
		}
	}
}

// findings counts how often the first subject, which costs factor times as much as the others, is
// correctly called different from the second in a cell.
func findings(s series, blocks int, factor float64) (found rate) {
	r := rand.New(rand.NewPCG(2, uint64(blocks)))
	costs := equalCosts()
	costs[0], costs[quickSubjects] = factor, factor // the A/A control costs the same
	for range wholeRuns {
		f := s.family(r, blocks, costs, PairedRatio)
		verdicts := Judge(f, 0.05)
		// the comparison after the A/A control's
		for at := 1; at < len(f); at += len(f) / quickCells {
			found.count(verdicts[at].Word == result.Different && f[at].Ratio > 1)
		}
	}
	return found
}

// TestPowerOnADisturbedMachine logs the power without the rejection of disturbed trials. It sets no
// limit, since the lab rejects them.
func TestPowerOnADisturbedMachine(t *testing.T) {
	for name, s := range readSeries(t, "testdata/disturbed.txt", "us/msg") {
		for _, blocks := range []int{doubled, 20} {
			t.Logf("%s, disturbed, %d blocks: a difference of 10 %% is detected in %.1f %%", name, blocks, findings(s, blocks, 1.1).percent())
		}
	}
}

// TestIntervalsReachTheStatedCoverage checks that with normal noise the intervals contain the true
// ratio at the stated confidence, from 2 blocks on.
func TestIntervalsReachTheStatedCoverage(t *testing.T) {
	for _, blocks := range []int{2, 3, 4, 5, 10, 20} {
		r := rand.New(rand.NewPCG(3, uint64(blocks)))
		var held rate
		for range simulations {
			pair := mirrored(blocks, 2, func(_, _, s int) float64 {
				return math.Exp(0.05*r.NormFloat64() + 0.1*float64(s))
			})
			e := PairedRatio(pair[1], pair[0])
			held.count(e.Low <= math.Exp(0.1) && math.Exp(0.1) <= e.High)
		}
		t.Logf("%d blocks: %.1f %% of the intervals contain the true ratio", blocks, held.percent())
		if held.percent() < 94 { // 95 % minus twice the standard error of 2,000 simulations
			t.Errorf("%d blocks: got a coverage of %.1f %%, want 94 %%", blocks, held.percent())
		}
	}
}
