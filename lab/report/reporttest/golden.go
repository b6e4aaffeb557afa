package reporttest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/lab/result"
)

// Reporter writes the reports of one kind.
type Reporter struct {
	Write    func(dir string, r *result.Results) error
	Terminal func(w io.Writer, r *result.Results, colour bool, width int)
	Update   *bool // whether the golden files are written in place of being compared
}

// Golden compares the report of r with the golden files of the given path: the Markdown, the tables
// for LaTeX, the summary with and without colour, and the digests of all other files.
func (x Reporter) Golden(t *testing.T, path string, r *result.Results) {
	t.Helper()
	dir := t.TempDir()
	if err := result.Write(dir, r); err != nil {
		t.Fatal(err)
	}
	read, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Write(dir, read); err != nil {
		t.Fatal(err)
	}
	var plain, coloured bytes.Buffer
	x.Terminal(&plain, read, false, 80)
	x.Terminal(&coloured, read, true, 120)
	markdown := content(t, dir, "report.md")
	x.compare(t, path+".md", markdown)
	x.compare(t, path+".tex", content(t, dir, "table.tex"))
	x.compare(t, path+".txt", plain.Bytes())
	x.compare(t, path+".ansi", coloured.Bytes())
	x.compare(t, path+".sums", sums(t, dir, markdown))
}

func content(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var figure = regexp.MustCompile(`\(figures/([a-z0-9-]+\.svg)\)`)

// sums returns the digests of the files without a golden file of their own, figures in the order of
// the Markdown.
func sums(t *testing.T, dir string, markdown []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	add := func(name, file string) { fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content(t, dir, file)), name) }
	for _, name := range []string{result.File, "report.html", "trials.csv"} {
		add(name, name)
	}
	for _, m := range figure.FindAllSubmatch(markdown, -1) {
		add(string(m[1]), filepath.Join("figures", string(m[1])))
	}
	return b.Bytes()
}

func (x Reporter) compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *x.Update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the golden file; if that is intended, run go test -update\n%s", file, got)
	}
}

// CheckSentences requires at most most sentences, each of at most 36 words.
func CheckSentences(t *testing.T, name string, said []string, most int) {
	t.Helper()
	if len(said) > most || len(said) == 0 {
		t.Errorf("%s: got %d sentences, want 1 to %d", name, len(said), most)
	}
	for _, s := range said {
		if n := len(strings.Fields(s)); n > 36 || strings.Count(s, "; ") > 3 || !strings.HasSuffix(s, ".") {
			t.Errorf("%s: got a sentence of %d words, want at most 36: %s", name, n, s)
		}
	}
}
