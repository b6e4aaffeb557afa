package report

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/lab/result"
)

var (
	update = flag.Bool("update", false, "write the golden files")
	keep   = flag.String("keep", "", "directory for the reports of the synthetic runs, for inspection")
)

// runs are the synthetic runs of the tests.
var runs = map[string]func() *result.Results{"full": full, "quick": quick, "published": asPublished, "saturation": saturated, "web": webRun, "pipes": pipesRun, "chat": chatRun, "stack": stackRun,
	"empty": func() *result.Results { return &result.Results{Version: result.Version} }}

// TestGolden compares the texts of reports with the golden files.
func TestGolden(t *testing.T) {
	for name, run := range runs {
		r := run()
		var plain, coloured bytes.Buffer
		Terminal(&plain, r, false, 80)
		Terminal(&coloured, r, true, 120)
		golden(t, name+".md", documentOf(r).markdown())
		golden(t, name+".tex", tex(r))
		golden(t, name+".txt", plain.Bytes())
		golden(t, name+".ansi", coloured.Bytes())
		golden(t, name+".sums", sums(t, r))
	}
}

// sums returns the digests of the files that have no golden file: the results, and of their report
// the page, the list of trials and the figures. The report is that of the results as they are read
// from their file.
func sums(t *testing.T, r *result.Results) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := result.Write(dir, r); err != nil {
		t.Fatal(err)
	}
	read, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	doc := documentOf(read)
	page, err := doc.html()
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(dir, result.File))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	add := func(name string, content []byte) { fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), name) }
	add(result.File, written)
	add(htmlFile, page)
	add(csvFile, trialsCSV(read))
	for _, f := range doc.figures() {
		add(f.Name+".svg", f.SVG())
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the golden file; if that is intended, run go test -update\n%s", name, got)
	}
}

// TestWriteWritesEverything checks that every file of a report is written and not empty.
func TestWriteWritesEverything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := Write(dir, full()); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"report.html", "report.md", "table.tex", "trials.csv", "figures/floor.svg", "figures/floor.pdf", "figures/mean-cpu-messages-staggered.svg"} {
		if s, err := os.Stat(filepath.Join(dir, f)); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	for name, run := range runs {
		if *keep == "" {
			break
		}
		if err := Write(filepath.Join(*keep, name), run()); err != nil {
			t.Error(err)
		}
	}
}

// TestWriteReportsAnError checks the error for a directory that is a file.
func TestWriteReportsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, full()); err == nil {
		t.Error("got no error for a report into a file")
	}
}
