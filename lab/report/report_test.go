package report

import (
	"os"
	"path/filepath"
	"testing"
	"weir/lab/report/reporttest"
)

// TestWriteWritesEverything checks that every file of a report is written and not empty.
func TestWriteWritesEverything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := Write(dir, reporttest.Full(), plain{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"report.html", "report.md", "table.tex", "trials.csv", "figures/floor.svg", "figures/floor.pdf", "figures/cpu-over-time-64-staggered.svg"} {
		if s, err := os.Stat(filepath.Join(dir, f)); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// TestWriteReportsAnError checks the error for a directory that is a file.
func TestWriteReportsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, reporttest.Full(), plain{}); err == nil {
		t.Error("got no error for a report into a file")
	}
}
