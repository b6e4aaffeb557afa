package paper

import (
	"strings"
	"testing"
	"weir/lab/report"
	"weir/lab/report/reporttest"
	"weir/lab/result"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain is a kind without sections.
type plain struct{ report.Kind }

func (plain) Units() (one, many string) { return "message", "messages" }

func (plain) Busiest(d *report.Digest) []*report.Group { return d.MostConnected() }

func runOf(r *result.Results) Run {
	return RunOf(report.NewDigest(r, plain{}), []string{"c-fork"}, []string{"go-goroutine"})
}

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
		if got := runOf(reporttest.TwoSubjects(verdict)).cpuSentences()[0]; got != want {
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
		if got := strings.Join(runOf(r).cpuSentences(), " "); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, %s: got %q, want %q at its end", c.staggered, c.together, got, c.want)
		}
	}
}

// TestTheFloorIsNotTheLowest checks that the answer does not name the floor, which does less than a
// server must.
func TestTheFloorIsNotTheLowest(t *testing.T) {
	r := reporttest.TwoSubjects(result.Different)
	r.Subjects = []result.Subject{{Name: "a", Paradigm: report.Floor}, {Name: "b"}}
	if got := runOf(r).cpuSentences()[0]; !strings.Contains(got, "b used the least CPU (9.00 µs per message), as the only subject") {
		t.Errorf("with a as the floor: got %q, want b as the lowest", got)
	}
}
