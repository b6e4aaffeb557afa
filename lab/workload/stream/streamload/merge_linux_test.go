package streamload

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"weir/lab/load"
)

// TestMergedReportsHaveTheFiguresOfAllParts: one report merges to itself, and the same report twice
// to twice its counts.
func TestMergedReportsHaveTheFiguresOfAllParts(t *testing.T) {
	c := small(serve(t, "127.0.0.1:0", echo).addr)
	c.Echo, c.Churn, c.Idle, c.Histograms = true, 100, 2, true
	r, err := Run(t.Context(), c, load.Events{})
	if err != nil || r.Churn == nil || r.Churn.Done == 0 || r.Echoed == 0 {
		t.Fatalf("got error %v and %+v, want echoes and short connections", err, r)
	}
	if one, err := Merge(r); err != nil || !reflect.DeepEqual(rounded(one), rounded(r)) {
		t.Errorf("one report: got error %v and\n%+v, want the same\n%+v", err, one, r)
	}
	two, err := Merge(r, r)
	if err != nil || two.Connections != 2*r.Connections || two.Idle != 2*r.Idle || two.Echoed != 2*r.Echoed || two.Writes != 2*r.Writes || two.Messages != 2*r.Messages ||
		two.Churn.Done != 2*r.Churn.Done || two.Churn.Offered != 2*r.Churn.Offered {
		t.Errorf("two reports: got error %v and\n%+v, want twice the counts of\n%+v", err, two, r)
	}
	if two.Churn.DurationUS.Max != r.Churn.DurationUS.Max || two.LatencyUS.Max != r.LatencyUS.Max || two.Rate != r.Rate {
		t.Errorf("two reports: got\n%+v, want the extremes and the rate of\n%+v", two, r)
	}
	r.Histograms["churn"] = "HIST"
	if _, err := Merge(r); err == nil {
		t.Error("an invalid histogram: got no error, want one")
	}
}

// rounded returns r with rounded averages, which merging computes anew.
func rounded(r Report) Report {
	r.LatencyMeanUS, r.AchievedRatio = math.Round(r.LatencyMeanUS), math.Round(1e6*r.AchievedRatio)
	return r
}

func TestReportsThatNoGeneratorMakesAreNotMerged(t *testing.T) {
	for name, r := range map[string]Report{
		"negative connections":      {Connections: -1},
		"negative echoes":           {Echoed: -1},
		"large messages":            {Size: MaxSize + 1},
		"negative size":             {Size: -1},
		"negative connection count": {Churn: &ChurnReport{Done: -1}},
		"overflowing bytes":         {Size: MaxSize, Churn: &ChurnReport{Done: 1 << 50}},
	} {
		if _, err := Merge(Report{}, r); err == nil || !strings.Contains(err.Error(), "report 1") {
			t.Errorf("%s: got error %v, want one about report 1", name, err)
		}
	}
}
