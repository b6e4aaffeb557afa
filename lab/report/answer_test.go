package report

import (
	"io"
	"slices"
	"strings"
	"testing"

	"weir/lab/report/reporttest"
	"weir/lab/result"
)

// TestThePlanTableCountsBlocksThatRan checks runs whose time limit ended them before the plan was
// complete.
func TestThePlanTableCountsBlocksThatRan(t *testing.T) {
	r := reporttest.Quick()
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
	r := reporttest.Quick()
	if got := digestOf(r).FloorSection("", nil).Title; got != "How far above the floor, and why" {
		t.Errorf("with a floor: got the title %q", got)
	}
	r.Subjects = slices.DeleteFunc(r.Subjects, func(s result.Subject) bool { return s.Paradigm == Floor })
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return t.Subject == "c-splice" })
	if got := digestOf(r).FloorSection("", nil).Title; got != "How far above the lowest, and why" {
		t.Errorf("without a floor: got the title %q", got)
	}
}

// TestVersusTurnsRound: a comparison asked for the other way round has its ratio and ends inverted.
func TestVersusTurnsRound(t *testing.T) {
	d := digestOf(reporttest.TwoSubjects(result.Different))
	v, ok := d.Versus(result.MetricCPU, d.Groups[0], "a", "b")
	if !ok || v.A != "a" || v.Ratio != 1/1.8 || v.Low != 0.5 || v.High != 1/1.6 {
		t.Errorf("a over b: %+v, %v", v, ok)
	}
}

// TestTheIntervalBesideAVerdictIsTheOneItRestsOn, in every table that has both.
func TestTheIntervalBesideAVerdictIsTheOneItRestsOn(t *testing.T) {
	r := reporttest.TwoSubjects(result.Different)
	r.Comparisons[0].Low, r.Comparisons[0].High = 1.7, 1.9 // not corrected
	d := digestOf(r)
	for where, said := range map[string]string{
		"the ranking": strings.Join(d.RankTable(d.Groups[0]).Rows[1], "|"), "the comparisons": strings.Join(d.comparisonTable().Rows[0], "|"),
	} {
		if !strings.Contains(said, "1.60 to 2.00") || strings.Contains(said, "1.70 to 1.90") {
			t.Errorf("%s: %s, want the interval 1.60 to 2.00 of the verdict", where, said)
		}
	}
}

// TestOlderComparisonsAreComputedAgain checks comparisons without the interval of their verdict,
// whose blocks had different weights.
func TestOlderComparisonsAreComputedAgain(t *testing.T) {
	r := reporttest.Quick()
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
	r := reporttest.TwoSubjects(result.Different)
	r.Comparisons = append(r.Comparisons, result.Comparison{A: "a", B: "a+twin", AAControl: true, Verdict: result.Different, Metric: result.MetricCPU, Ratio: 1.2, Pairs: 3})
	if got := digestOf(r).caveats(nil)[0]; !strings.HasPrefix(got, "The A/A control failed") {
		t.Errorf("got the first caveat %q, want that the A/A control failed", got)
	}
}

// TestRejectedTrialsChangeNoMean checks that the figures of a rejected trial are not used.
func TestRejectedTrialsChangeNoMean(t *testing.T) {
	r := reporttest.TwoSubjects(result.Different)
	r.Trials = append(r.Trials, result.Trial{Subject: "a", Connections: 64, Pattern: "staggered", CPUUSPerMessage: 1000, RejectedBecause: []string{"late"}})
	if got := digestOf(r).Groups[0].Cell("a").PerMessage.Mean; got != 5 {
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
		l := Lead{First: &Cell{Subject: "a"}, Tied: others, rivals: 2, compared: compared}
		if got := l.Sentence("was first"); got != want {
			t.Errorf("compared with %d: got %q, want %q", compared, got, want)
		}
	}
}

// TestTheAnswerOfAPoorRun checks that the answer of a run says why there is no result: without
// trials, with one trial, and with only rejected ones.
func TestTheAnswerOfAPoorRun(t *testing.T) {
	one := reporttest.Full()
	one.Trials, one.Comparisons = one.Trials[:1], nil
	rejected := reporttest.Quick()
	for i := range rejected.Trials {
		rejected.Trials[i].Accepted = false
	}
	rejected.Comparisons = nil
	for name, c := range map[string]struct {
		run  *result.Results
		want string
	}{
		"no trials":    {&result.Results{}, "No trial was run"},
		"one trial":    {one, "as the only subject"},
		"all rejected": {rejected, "There is no answer"},
	} {
		if got := strings.Join(documentOf(digestOf(c.run)).Answer, " "); !strings.Contains(got, c.want) {
			t.Errorf("%s: got the answer %q, want %q", name, got, c.want)
		}
		Terminal(io.Discard, c.run, plain{}, true, 80)
	}
}
