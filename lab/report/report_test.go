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

// TestAReportIsReplacedAsAWhole: a part of a file would be taken for all of it. A file that is
// written anew in its place is the same file.
func TestAReportIsReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	before := map[string]os.FileInfo{}
	for range 2 {
		if err := Write(dir, reporttest.Full(), plain{}); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{htmlFile, markdownFile, texFile, csvFile, "figures/floor.svg"} {
			now, err := os.Stat(filepath.Join(dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if was := before[f]; was != nil && os.SameFile(was, now) {
				t.Errorf("%s was written in place, want it replaced", f)
			}
			before[f] = now
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
