package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/result"
)

// TestReportWritesAgain: from results.json alone, the report is there again; --text writes no file.
func TestReportWritesAgain(t *testing.T) {
	dir := t.TempDir()
	r := &result.Results{Version: result.Version, Trials: []result.Trial{{ID: 1, Subject: "c-fork", Load: "messages", Connections: 64, Pattern: "staggered", CPUUSPerMessage: 10, Accepted: true}}}
	if err := result.Write(dir, r); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	term := newTerminal(out, out)
	if err := (&reportCmd{Dir: dir, Text: true}).Run(context.Background(), term); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("--text left %d files beside the results", len(files)-1)
	}
	if err := (&reportCmd{Dir: dir}).Run(context.Background(), term); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"report.html", "report.md", "table.tex", "trials.csv"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Error(err)
		}
	}
}

// TestReportSaysWhatIsMissing: a directory without a run gives one error that names it.
func TestReportSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	err := (&reportCmd{Dir: dir}).Run(context.Background(), newTerminal(os.Stdout, os.Stderr))
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}
