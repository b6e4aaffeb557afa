package report

import (
	"slices"
	"testing"
)

// TestEveryTrialIsTold: each trial of the run stands in the table of exactly one figure, for those
// who cannot point at it.
func TestEveryTrialIsTold(t *testing.T) {
	d := digestOf(full())
	told := map[string]int{}
	for _, g := range d.groups {
		for _, row := range d.pointsFigure(g).Data.Rows {
			if len(row) != len(d.trialHead()) {
				t.Fatalf("%d cells under %d headings", len(row), len(d.trialHead()))
			}
			told[row[0]]++
		}
	}
	for i := range d.Trials {
		if row := trialRow(&d.Trials[i]); told[row[0]] != 1 || slices.Contains(row, "NaN") {
			t.Errorf("trial %s is told %d times", row[0], told[row[0]])
		}
	}
}
