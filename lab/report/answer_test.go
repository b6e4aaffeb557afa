package report

import (
	"strings"
	"testing"

	"weir/lab/result"
)

// TestAnswerClaimsNoMoreThanVerdicts: a subject is named cheapest alone only where every comparison with
// it says "different".
func TestAnswerClaimsNoMoreThanVerdicts(t *testing.T) {
	for _, c := range []struct{ verdict, want, never string }{
		{different, "that of a (staggered: 5.00 µs)", "not shown"},
		{equivalent, "not shown to differ from b", "that of a (staggered: 5.00 µs)."},
		{undecided, "not shown to differ from b", "that of a (staggered: 5.00 µs)."},
		{"", "not shown to differ from b", "that of a (staggered: 5.00 µs)."},
	} {
		got := digestOf(twoSubjects(c.verdict)).cpuSentence()
		if !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
			t.Errorf("verdict %q: %s", c.verdict, got)
		}
	}
}

// twoSubjects is a costing 5 and b costing 9, with a verdict on that; "" compares nothing.
func twoSubjects(verdict string) *result.Results {
	r := &result.Results{Plan: result.Plan{Patterns: []string{"staggered"}, WindowMS: 500}}
	for block := range 3 {
		r.Trials = append(r.Trials, result.Trial{Subject: "a", Connections: 64, Pattern: "staggered", Block: block, CPUUSPerMessage: 5, Accepted: true},
			result.Trial{Subject: "b", Connections: 64, Pattern: "staggered", Block: block, CPUUSPerMessage: 9, Accepted: true})
	}
	if verdict != "" {
		r.Comparisons = []result.Comparison{{A: "b", B: "a", Metric: metricCPU, Connections: 64, Pattern: "staggered", Ratio: 1.8, Low: 1.6, High: 2, Pairs: 3, Verdict: verdict}}
	}
	return r
}

// TestVersusTurnsRound: a comparison asked for the other way round has its ratio and ends inverted.
func TestVersusTurnsRound(t *testing.T) {
	d := digestOf(twoSubjects(different))
	v, ok := d.versus(metricCPU, d.groups[0], "a", "b")
	if !ok || v.A != "a" || v.Ratio != 1/1.8 || v.Low != 0.5 || v.High != 1/1.6 {
		t.Errorf("a over b: %+v, %v", v, ok)
	}
}

// TestTwinThatDiffersIsSaid: nothing is more important than that the lab fooled itself.
func TestTwinThatDiffersIsSaid(t *testing.T) {
	r := twoSubjects(different)
	r.Comparisons = append(r.Comparisons, result.Comparison{A: "a", B: "a+twin", Twin: true, Verdict: different, Metric: metricCPU, Ratio: 1.2, Pairs: 3})
	if got := digestOf(r).caveats()[0]; !strings.Contains(got, "its own twin") {
		t.Errorf("the first caveat is %q", got)
	}
}

// TestFloorIsNoWinner: the floor does less than a server must, so it is never named as the cheapest server.
func TestFloorIsNoWinner(t *testing.T) {
	r := twoSubjects(different)
	r.Subjects = []result.Subject{{Name: "a", Paradigm: floorParadigm}, {Name: "b"}}
	if got := digestOf(r).cpuSentence(); !strings.Contains(got, "that of b") {
		t.Errorf("with a as the floor: %s", got)
	}
}

// TestRefusedTrialsCountForNothing: a refused trial changes no mean.
func TestRefusedTrialsCountForNothing(t *testing.T) {
	r := twoSubjects(different)
	r.Trials = append(r.Trials, result.Trial{Subject: "a", Connections: 64, Pattern: "staggered", CPUUSPerMessage: 1000, RefusedBecause: []string{"late"}})
	if got := digestOf(r).groups[0].cell("a").perMessage.mean; got != 5 {
		t.Errorf("the mean of three accepted trials of 5 and a refused one of 1,000 is %v", got)
	}
}
