package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/result"
)

// The report is written again from results.json alone. --text writes no file.
func TestReportIsRewrittenFromItsResults(t *testing.T) {
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
		t.Errorf("report --text: got %d files beside the results, want none", len(files)-1)
	}
	if err := (&reportCmd{Dir: dir}).Run(context.Background(), term); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"report.html", "report.md", "table.tex", "trials.csv"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Errorf("report: got %v, want the file to be written", err)
		}
	}
}

func TestReportNamesADirectoryWithoutARun(t *testing.T) {
	dir := t.TempDir()
	err := (&reportCmd{Dir: dir}).Run(context.Background(), newTerminal(os.Stdout, os.Stderr))
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("report of a directory without a run: got error %v, want one that names %s", err, dir)
	}
}
