package report_test

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/lab/report"
	"weir/lab/report/reporttest"
	"weir/lab/result"
	"weir/lab/workload/http"
)

var updateKnee = flag.Bool("update", false, "write the golden files")

// kneeRun is a run in which the knees of four subjects were searched.
func kneeRun() *result.Results {
	s := reporttest.New([]int{64}, 1)
	s.Plan.Workload, s.Trials, s.Comparisons, s.Subjects = "requests", nil, nil, nil
	s.Plan.Loads = []result.Load{{Name: "1000/s", Rate: 15.625}}
	for _, k := range []result.Knee{
		{Subject: "slow", Estimates: []float64{500, 510, 520, 505, 515}},
		{Subject: "fast", Estimates: []float64{1000, 1010, 1020, 1005, 1015}},
		{Subject: "near", Estimates: []float64{990, 1002, 995, 1000, 1001}},
		{Subject: "dead"}, {Subject: "late", Why: "no time"},
	} {
		k.Load, k.Connections, k.Pattern, k.Criterion, k.Confirmed = "1000/s", 64, "staggered", "p99 < 10ms", k.Estimates != nil
		if sorted := slices.Sorted(slices.Values(k.Estimates)); len(sorted) > 0 {
			k.Low, k.Rate, k.High = sorted[0], sorted[2], sorted[4]
		}
		s.Knees = append(s.Knees, k)
		s.Subjects = append(s.Subjects, result.Subject{Name: k.Subject})
		s.KneeProbes = append(s.KneeProbes, result.KneeProbe{Subject: k.Subject, Load: k.Load, Connections: 64, Pattern: k.Pattern, Rate: 2000, MessageRate: 1500, Why: "p99 12.0 ms", DisturbedBy: []string{"another process"}})
	}
	return s.Results
}

// TestReportOfKnees compares the whole report with its golden files.
func TestReportOfKnees(t *testing.T) {
	reporttest.Reporter{
		Update: updateKnee,
		Write:  func(dir string, r *result.Results) error { return report.Write(dir, r, http.Report{}) },
		Terminal: func(w io.Writer, r *result.Results, colour bool, width int) {
			report.Terminal(w, r, http.Report{}, colour, width)
		},
	}.Golden(t, "testdata/knee", kneeRun())
}

func TestKneesAreInTheSummaryThePageAndTheTable(t *testing.T) {
	run, dir := kneeRun(), t.TempDir()
	var text strings.Builder
	report.Terminal(&text, run, http.Report{}, false, 200)
	if err := report.Write(dir, run, http.Report{}); err != nil {
		t.Fatal(err)
	}
	for name, wanted := range map[string][]string{
		"": {"The highest rates with p99 < 10ms, 64 connections: fast 1,010/s (1,000 to 1,020), near 1,000/s (990.0 to 1,002), slow 510.0/s (500.0 to 520.0), dead none and late not found (no time).",
			"lower (p = 0.0317)", "not significantly different", "no rate kept the criterion", "! 5 probes at which a subject did not keep up had a disturbance"},
		"report.md":   {"The highest rate that keeps the latency", "p99 12.0 ms", "no time"},
		"report.html": {"The highest rate that keeps the latency", "Highest rate with p99 &lt; 10ms"},
		"table.tex":   {"fast & 1,010 & 1,000 to 1,020"},
	} {
		got := text.String()
		if name != "" {
			file, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			got = string(file)
		}
		for _, want := range wanted {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s\nwant it to have %q", name, got, want)
			}
		}
	}
}
