package report

import (
	"slices"
	"strings"
	"testing"

	"weir/lab/compare"
	"weir/lab/result"
)

// TestAnswerClaimsNoMoreThanVerdicts: a subject is named cheapest alone only where every comparison
// with it says "different".
func TestAnswerClaimsNoMoreThanVerdicts(t *testing.T) {
	for _, c := range []struct{ verdict, want, never string }{
		{result.Different, "a cost least CPU (5.00 µs", "not told"},
		{result.Equivalent, "a, not told from b, cost least CPU (5.00 µs", "a cost least"},
		{result.Undecided, "a, not told from b, cost least CPU (5.00 µs", "a cost least"},
		{"", "a, not told from b, cost least CPU (5.00 µs", "a cost least"},
	} {
		got := digestOf(twoSubjects(c.verdict)).cpuSentence()
		if !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
			t.Errorf("verdict %q: %s", c.verdict, got)
		}
	}
}

// TestThePairClauseSaysNoMoreThanVerdicts: what the published pair costs under the first pattern,
// and whether another turns it round.
func TestThePairClauseSaysNoMoreThanVerdicts(t *testing.T) {
	for _, c := range []struct {
		staggered, together string // verdicts
		ratio               float64
		want                string
	}{
		{result.Different, result.Different, 0.5, "go-goroutine cost 1.80 times as much as c-fork (1.60 to 2.00); the other way round together (0.50)."},
		{result.Different, result.Different, 1.5, "(1.60 to 2.00); no other pattern was seen to turn it."},
		{result.Different, result.Undecided, 0.5, "(1.60 to 2.00); no other pattern was seen to turn it."},
		{result.Equivalent, result.Equivalent, 1, "go-goroutine and c-fork cost the same within 5 %."},
		{result.Undecided, result.Different, 0.5, "go-goroutine against c-fork is undecided (1.60 to 2.00); different together (0.50)."},
		{result.Undecided, result.Undecided, 1, "go-goroutine against c-fork is undecided (1.60 to 2.00)."},
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
		if got := digestOf(r).cpuSentence(); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, %s: %s", c.staggered, c.together, got)
		}
	}
}

// TestTheAnswerIsTwoShortSentences: details stand in the table after it. Runs of requests have more
// to answer.
func TestTheAnswerIsTwoShortSentences(t *testing.T) {
	for name, run := range runs {
		r := run()
		if len(r.Trials) == 0 {
			continue // there is another answer, or none
		}
		said := digestOf(r).verdict()
		if len(said) != 2 && !r.Plan.HTTP() {
			t.Errorf("%s: %d sentences", name, len(said))
		}
		for _, s := range said {
			if n := len(strings.Fields(s)); n > 36 || strings.Count(s, "; ") > 3 || !strings.HasSuffix(s, ".") {
				t.Errorf("%s: %d words: %s", name, n, s)
			}
		}
	}
}

// TestTooFewWindowsGiveNoFigure: a short run says that it is one, wherever its variation would
// stand.
func TestTooFewWindowsGiveNoFigure(t *testing.T) {
	r := quick()
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return t.Block > 0 })
	for i := range r.Trials {
		r.Trials[i].Samples = r.Trials[i].Samples[:21] // two windows in each of two trials
	}
	r.Comparisons = compare.All(r)
	d := digestOf(r)
	if got := d.stabilitySentence(); !strings.Contains(got, "too short to tell: 2 degrees of freedom at most, and 8 are needed") {
		t.Errorf("the sentence is %q", got)
	}
	if c := d.groups[0].cells[0]; c.varied() != "too short (2)" || c.cv.known() {
		t.Errorf("a cell shows %q", c.varied())
	}
	if v, _ := d.versus(result.MetricCV, d.groups[0], "go-goroutine", "c-fork"); pairVerdict(v, "varied") != "too short to tell" || ratioOf(v) != absent {
		t.Errorf("the pair shows %q and %q", pairVerdict(v, "varied"), ratioOf(v))
	}
	if strings.Contains(string(documentOf(r).markdown()), "ratios-cpu-cv") {
		t.Error("ratios of the variation are drawn all the same")
	}
}

// TestThePlanTableCountsBlocksThatRan: time may have ended before the plan did.
func TestThePlanTableCountsBlocksThatRan(t *testing.T) {
	r := quick()
	r.Plan.Blocks = 6
	if got := digestOf(r).blocksRun(); got != "3 blocks per cell" {
		t.Errorf("three blocks ran, and it says %q", got)
	}
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return t.Pattern == "poisson" && t.Block == 2 })
	if got := digestOf(r).blocksRun(); got != "2 to 3 blocks per cell" {
		t.Errorf("a block of one cell is missing, and it says %q", got)
	}
}

// TestTheMultipleNamesWhatItIsOf: without a floor, the cheapest server is no floor.
func TestTheMultipleNamesWhatItIsOf(t *testing.T) {
	r := quick()
	if got := digestOf(r).floorSection().Title; got != "How far above the floor, and why" {
		t.Errorf("with a floor the title is %q", got)
	}
	r.Subjects = slices.DeleteFunc(r.Subjects, func(s result.Subject) bool { return s.Paradigm == floorParadigm })
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return t.Subject == "c-splice" })
	if got := digestOf(r).floorSection().Title; got != "How far above the cheapest, and why" {
		t.Errorf("without one it is %q", got)
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

// TestOlderComparisonsAreMadeAgain: they have no interval of their verdict, and their blocks had
// weights.
func TestOlderComparisonsAreMadeAgain(t *testing.T) {
	r := quick()
	want := digestOf(r).Comparisons
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.VerdictLow, c.VerdictHigh, c.Ratio, c.Verdict = 0, 0, 3*c.Ratio, result.Different
	}
	if got := digestOf(r).Comparisons; !slices.Equal(got, want) {
		t.Errorf("of older results: %+v, want %+v", got, want)
	}
}

// TestTwinThatDiffersIsSaid: nothing is more important than that the lab fooled itself.
func TestTwinThatDiffersIsSaid(t *testing.T) {
	r := twoSubjects(result.Different)
	r.Comparisons = append(r.Comparisons, result.Comparison{A: "a", B: "a+twin", Twin: true, Verdict: result.Different, Metric: result.MetricCPU, Ratio: 1.2, Pairs: 3})
	if got := digestOf(r).caveats()[0]; !strings.Contains(got, "its own twin") {
		t.Errorf("the first caveat is %q", got)
	}
}

// TestFloorIsNoWinner: the floor does less than a server must, so it is never named as the cheapest
// server.
func TestFloorIsNoWinner(t *testing.T) {
	r := twoSubjects(result.Different)
	r.Subjects = []result.Subject{{Name: "a", Paradigm: floorParadigm}, {Name: "b"}}
	if got := digestOf(r).cpuSentence(); !strings.Contains(got, "b, alone there, cost least CPU") {
		t.Errorf("with a as the floor: %s", got)
	}
}

// TestRefusedTrialsCountForNothing: a refused trial changes no mean.
func TestRefusedTrialsCountForNothing(t *testing.T) {
	r := twoSubjects(result.Different)
	r.Trials = append(r.Trials, result.Trial{Subject: "a", Connections: 64, Pattern: "staggered", CPUUSPerMessage: 1000, RefusedBecause: []string{"late"}})
	if got := digestOf(r).groups[0].cell("a").perMessage.mean; got != 5 {
		t.Errorf("the mean of three accepted trials of 5 and a refused one of 1,000 is %v", got)
	}
}
