package report

import (
	"slices"
	"testing"
	"weir/lab/report/reporttest"
)

// TestEveryTrialIsInATable checks that each trial is in the data of exactly one figure, for readers
// who cannot point at its mark.
func TestEveryTrialIsInATable(t *testing.T) {
	d := digestOf(reporttest.Full())
	rows := map[string]int{}
	for _, g := range d.Groups {
		for _, row := range d.pointsFigure(g).Data.Rows {
			if len(row) != len(d.trialHead()) {
				t.Fatalf("got %d cells, want %d", len(row), len(d.trialHead()))
			}
			rows[row[0]]++
		}
	}
	for i := range d.Trials {
		if row := trialRow(&d.Trials[i]); rows[row[0]] != 1 || slices.Contains(row, "NaN") {
			t.Errorf("trial %s: got %d rows, want 1", row[0], rows[row[0]])
		}
	}
}
