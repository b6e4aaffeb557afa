package report

import (
	"slices"
	"strings"
	"testing"

	"weir/lab/compare"
	"weir/lab/result"
)

// TestTheAnswerAgreesWithTheVerdicts checks that the answer names every subject that is not
// significantly different from the lowest.
func TestTheAnswerAgreesWithTheVerdicts(t *testing.T) {
	const least = "At 64 connections with staggered arrivals, a used the least CPU (5.00 µs per message); "
	for verdict, want := range map[string]string{
		result.Different:  least + "all others are significantly different.",
		result.Equivalent: least + "b is not significantly different.",
		result.Undecided:  least + "b is not significantly different.",
		"":                least + "it has too few accepted trials to be compared with the others.",
	} {
		if got := digestOf(twoSubjects(verdict)).cpuSentences()[0]; got != want {
			t.Errorf("verdict %q: got %q, want %q", verdict, got, want)
		}
	}
}

// TestThePairClauseAgreesWithTheVerdicts checks the comparison of the published concurrency models
// under the first arrival pattern, and what it says of the other.
func TestThePairClauseAgreesWithTheVerdicts(t *testing.T) {
	for _, c := range []struct {
		staggered, together string // verdicts
		ratio               float64
		want                string
	}{
		{result.Different, result.Different, 0.5, "go-goroutine used 1.80 times as much CPU as c-fork (1.60 to 2.00); the order is the opposite with arrivals together (0.50 times)."},
		{result.Different, result.Different, 1.5, "(1.60 to 2.00); no other arrival pattern reversed this."},
		{result.Different, result.Undecided, 0.5, "(1.60 to 2.00); no other arrival pattern reversed this."},
		{result.Equivalent, result.Equivalent, 1, "go-goroutine and c-fork used the same CPU within 5 %."},
		{result.Undecided, result.Different, 0.5, "go-goroutine and c-fork are not significantly different (ratio 1.60 to 2.00); the difference is significant with arrivals together (0.50 times)."},
		{result.Undecided, result.Undecided, 1, "go-goroutine and c-fork are not significantly different (ratio 1.60 to 2.00)."},
	} {
		r := &result.Results{Plan: result.Plan{Patterns: []string{"staggered", "together"}, WindowMS: 500, Margin: 0.05}}
		for _, pattern := range r.Plan.Patterns {
			for _, subject := range []string{"c-fork", "go-goroutine"} {
				r.Trials = append(r.Trials, result.Trial{Subject: subject, Connections: 64, Pattern: pattern, CPUUSPerMessage: 5, Accepted: true})
			}
		}
		r.Comparisons = []result.Comparison{
			{A: "c-fork", B: "go-goroutine", Metric: result.MetricCPU, Connections: 64, Pattern: "staggered", Ratio: 1 / 1.8, VerdictLow: 0.5, VerdictHigh: 1 / 1.6, Pairs: 3, Verdict: c.staggered},
			{A: "go-goroutine", B: "c-fork", Metric: result.MetricCPU, Connections: 64, Pattern: "together", Ratio: c.ratio, VerdictLow: 0.4, VerdictHigh: 2, Pairs: 3, Verdict: c.together}}
		if got := strings.Join(digestOf(r).cpuSentences(), " "); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, %s: got %q, want %q at its end", c.staggered, c.together, got, c.want)
		}
	}
}

// TestTheAnswerIsAtMostThreeShortSentences checks all runs but those of requests, whose answer has
// more parts.
func TestTheAnswerIsAtMostThreeShortSentences(t *testing.T) {
	for name, run := range runs {
		r := run()
		if len(r.Trials) == 0 {
			continue // there is another answer, or none
		}
		said := digestOf(r).verdict()
		if len(said) > 3 && !r.Plan.HTTP() {
			t.Errorf("%s: got %d sentences, want at most 3", name, len(said))
		}
		for _, s := range said {
			if n := len(strings.Fields(s)); n > 36 || strings.Count(s, "; ") > 3 || !strings.HasSuffix(s, ".") {
				t.Errorf("%s: got a sentence of %d words, want at most 36: %s", name, n, s)
			}
		}
	}
}

// TestTooFewWindowsGiveNoFigure checks that a short run says so in place of its variation.
func TestTooFewWindowsGiveNoFigure(t *testing.T) {
	r := quick()
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return t.Block > 0 })
	for i := range r.Trials {
		r.Trials[i].Samples = r.Trials[i].Samples[:21] // two windows in each of two trials
	}
	r.Comparisons = compare.Kind{}.All(r)
	d := digestOf(r)
	if got := d.stabilitySentence(); !strings.Contains(got, "too short to tell: there are at most 2 degrees of freedom, and 8 are needed") {
		t.Errorf("got the sentence %q, want one that the run is too short", got)
	}
	if c := d.groups[0].cells[0]; c.formatCV() != "too short (2)" || c.cv.known() {
		t.Errorf("got %q in a cell, want too short (2)", c.formatCV())
	}
	if v, _ := d.versus(result.MetricCV, d.groups[0], "go-goroutine", "c-fork"); pairVerdict(v, "varied") != "too short to tell" || ratioOf(v) != absent {
		t.Errorf("got %q and %q for the pair, want too short to tell and no ratio", pairVerdict(v, "varied"), ratioOf(v))
	}
	if strings.Contains(string(documentOf(r).markdown()), "ratios-cpu-cv") {
		t.Error("got a figure of the ratios of the variation, want none")
	}
}

// TestThePlanTableCountsBlocksThatRan checks runs whose time limit ended them before the plan was
// complete.
func TestThePlanTableCountsBlocksThatRan(t *testing.T) {
	r := quick()
	r.Plan.Blocks = 6
	if got := digestOf(r).blocksRun(); got != "3 blocks per cell" {
		t.Errorf("got %q, want 3 blocks per cell", got)
	}
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return t.Pattern == "poisson" && t.Block == 2 })
	if got := digestOf(r).blocksRun(); got != "2 to 3 blocks per cell" {
		t.Errorf("one cell lacks a block: got %q, want 2 to 3 blocks per cell", got)
	}
}

// TestMultiplesAreOfTheFloorOrTheLowest checks the title of the section with and without a floor.
func TestMultiplesAreOfTheFloorOrTheLowest(t *testing.T) {
	r := quick()
	if got := digestOf(r).floorSection().Title; got != "How far above the floor, and why" {
		t.Errorf("with a floor: got the title %q", got)
	}
	r.Subjects = slices.DeleteFunc(r.Subjects, func(s result.Subject) bool { return s.Paradigm == floorParadigm })
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return t.Subject == "c-splice" })
	if got := digestOf(r).floorSection().Title; got != "How far above the lowest, and why" {
		t.Errorf("without a floor: got the title %q", got)
	}
}

// twoSubjects returns a run in which a costs 5 and b costs 9, with the given verdict; "" means no
// comparison.
func twoSubjects(verdict string) *result.Results {
	r := &result.Results{Plan: result.Plan{Patterns: []string{"staggered"}, WindowMS: 500}}
	for block := range 3 {
		r.Trials = append(r.Trials, result.Trial{Subject: "a", Connections: 64, Pattern: "staggered", Block: block, CPUUSPerMessage: 5, Accepted: true},
			result.Trial{Subject: "b", Connections: 64, Pattern: "staggered", Block: block, CPUUSPerMessage: 9, Accepted: true})
	}
	if verdict != "" {
		r.Comparisons = []result.Comparison{{A: "b", B: "a", Metric: result.MetricCPU, Connections: 64, Pattern: "staggered", Ratio: 1.8, VerdictLow: 1.6, VerdictHigh: 2, Pairs: 3, Verdict: verdict}}
	}
	return r
}

// TestVersusTurnsRound: a comparison asked for the other way round has its ratio and ends inverted.
func TestVersusTurnsRound(t *testing.T) {
	d := digestOf(twoSubjects(result.Different))
	v, ok := d.versus(result.MetricCPU, d.groups[0], "a", "b")
	if !ok || v.A != "a" || v.Ratio != 1/1.8 || v.Low != 0.5 || v.High != 1/1.6 {
		t.Errorf("a over b: %+v, %v", v, ok)
	}
}

// TestTheIntervalBesideAVerdictIsTheOneItRestsOn, in every table that has both.
func TestTheIntervalBesideAVerdictIsTheOneItRestsOn(t *testing.T) {
	r := twoSubjects(result.Different)
	r.Comparisons[0].Low, r.Comparisons[0].High = 1.7, 1.9 // not corrected
	d := digestOf(r)
	for where, said := range map[string]string{
		"the ranking": strings.Join(d.rankTable(d.groups[0]).Rows[1], "|"), "the comparisons": strings.Join(d.comparisonTable().Rows[0], "|"),
	} {
		if !strings.Contains(said, "1.60 to 2.00") || strings.Contains(said, "1.70 to 1.90") {
			t.Errorf("%s: %s, want the interval 1.60 to 2.00 of the verdict", where, said)
		}
	}
}

// TestOlderComparisonsAreComputedAgain checks comparisons without the interval of their verdict,
// whose blocks had different weights.
func TestOlderComparisonsAreComputedAgain(t *testing.T) {
	r := quick()
	want := digestOf(r).Comparisons
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.VerdictLow, c.VerdictHigh, c.Ratio, c.Verdict = 0, 0, 3*c.Ratio, result.Different
	}
	if got := digestOf(r).Comparisons; !slices.Equal(got, want) {
		t.Errorf("older results: got %+v, want %+v", got, want)
	}
}

// TestAFailedControlIsTheFirstCaveat checks the caveat of an A/A control that is called different.
func TestAFailedControlIsTheFirstCaveat(t *testing.T) {
	r := twoSubjects(result.Different)
	r.Comparisons = append(r.Comparisons, result.Comparison{A: "a", B: "a+twin", AAControl: true, Verdict: result.Different, Metric: result.MetricCPU, Ratio: 1.2, Pairs: 3})
	if got := digestOf(r).caveats()[0]; !strings.HasPrefix(got, "The A/A control failed") {
		t.Errorf("got the first caveat %q, want that the A/A control failed", got)
	}
}

// TestTheFloorIsNotTheLowest checks that the answer does not name the floor, which does less than a
// server must.
func TestTheFloorIsNotTheLowest(t *testing.T) {
	r := twoSubjects(result.Different)
	r.Subjects = []result.Subject{{Name: "a", Paradigm: floorParadigm}, {Name: "b"}}
	if got := digestOf(r).cpuSentences()[0]; !strings.Contains(got, "b used the least CPU (9.00 µs per message), as the only subject") {
		t.Errorf("with a as the floor: got %q, want b as the lowest", got)
	}
}

// TestRejectedTrialsChangeNoMean checks that the figures of a rejected trial are not used.
func TestRejectedTrialsChangeNoMean(t *testing.T) {
	r := twoSubjects(result.Different)
	r.Trials = append(r.Trials, result.Trial{Subject: "a", Connections: 64, Pattern: "staggered", CPUUSPerMessage: 1000, RejectedBecause: []string{"late"}})
	if got := digestOf(r).groups[0].cell("a").perMessage.mean; got != 5 {
		t.Errorf("three accepted trials of 5 and a rejected one of 1,000: got a mean of %v, want 5", got)
	}
}

// TestTheAnswerTellsTooFewTrialsFromNoDifference requires that the first subject is not said to be
// like others with which it was not compared.
func TestTheAnswerTellsTooFewTrialsFromNoDifference(t *testing.T) {
	others := []string{"b", "c"}
	for compared, want := range map[int]string{
		0: "a was first; it has too few accepted trials to be compared with the others",
		2: "a was first; no other is significantly different",
	} {
		l := lead{first: &cell{subject: "a"}, tied: others, rivals: 2, compared: compared}
		if got := l.sentence("was first"); got != want {
			t.Errorf("compared with %d: got %q, want %q", compared, got, want)
		}
	}
}
