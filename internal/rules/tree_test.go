package rules

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// foreign lists patterns that must not be in the tree. They are split in two, so that this file
// does not match them.
var foreign = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`(^|[^\w.~-])/(wo` + `rk|ro` + `ot|ho` + `me)/`), "a path of one machine: write it relative to the root of the project"},
	{regexp.MustCompile(`proxy\.gol` + `ang\.org|registry\.np` + `mjs\.org|(index|static)\.cra` + `tes\.io|files\.pytho` + `nhosted\.org|pyp` + `i\.org|repo1?\.maven\.(org|apache\.org)|deb\.debi` + `an\.org`),
		"the address of a package registry: the tool knows it, and the user may use another"},
	{regexp.MustCompile(`(?m)^(<<<` + `<<<<|>>>` + `>>>>) \S`), "a mark of a merge conflict: choose one of the two texts"},
}

func foreignFaults(name string, text []byte) []string {
	var faults []string
	for _, f := range foreign {
		if found := f.pattern.Find(text); found != nil {
			faults = append(faults, name+" holds "+strings.TrimSpace(string(found))+": "+f.why)
		}
	}
	return faults
}

func TestNothingForeign(t *testing.T) {
	for _, name := range tree(t) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.ContainsRune(text, 0) {
			report(t, foreignFaults(name, text))
		}
	}
}

func TestForeignCatchesABadExample(t *testing.T) {
	for text, want := range map[string]int{
		"cd /ho" + "me/someone/weir":                      1,
		"see \"/wo" + "rk/main\"":                         1,
		"https://proxy.gol" + "ang.org/x":                 1,
		"build/wo" + "rk/x, ~/ho" + "me/x, ../wo" + "rk/": 0,
		"text\n<<<<" + "<<< HEAD\n":                       1,
	} {
		if faults := foreignFaults("x", []byte(text)); len(faults) != want {
			t.Errorf("%q: faults %q, want %d", text, faults, want)
		}
	}
}

// documents returns the Markdown files of the tree, without those under testdata, which tests use
// as input.
func documents(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(tree(t), func(name string) bool {
		return path.Ext(name) != ".md" || strings.Contains("/"+name, "/testdata/")
	})
}

var (
	makeCommand = regexp.MustCompile("(?m)(?:^|`|&& )make ([a-z][a-z-]*)")
	makeTarget  = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// TestDocumentsNameTargetsThatExist checks every "make X" at the start of a line or of a code span.
func TestDocumentsNameTargetsThatExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllSubmatch(makefile, -1) {
		targets[string(m[1])] = true
	}
	for _, name := range documents(t) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range makeCommand.FindAllSubmatch(text, -1) {
			if !targets[string(m[1])] {
				t.Errorf("%s: got make %s, want a target of the Makefile", name, m[1])
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinksLeadSomewhere checks that the files to which documents link exist.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, name := range documents(t) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			target := filepath.Join(root(t), path.Dir(name), string(m[1]))
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: got a link to %s, want only links to files that exist", name, m[1])
			}
		}
	}
}

// TestEveryDocumentIsInTheIndex checks that docs/README.md links to each page beside it.
func TestEveryDocumentIsInTheIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root(t), "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range documents(t) {
		page := path.Base(name)
		if path.Dir(name) == "docs" && page != "README.md" && !bytes.Contains(index, []byte("("+page+")")) {
			t.Errorf("docs/README.md: got no link to %s, want one: add it for the kind of reader that it serves", page)
		}
	}
}
