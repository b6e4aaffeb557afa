package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+)\(`)

// testNames returns the names of the tests and fuzz targets of a folder.
func testNames(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// A step of the soak names its tests. go test passes when a name matches none, so that a test that
// was renamed would no longer be run.
func TestStepsOfTheSoakNameTests(t *testing.T) {
	cmd := exec.Command("bash", "scripts/soak", "--list")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	steps := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(steps) < 50 {
		t.Fatalf("got %d steps, want more than 50:\n%s", len(steps), out)
	}
	for _, step := range steps {
		words := strings.Fields(step)
		at := max(slices.Index(words, "-fuzz"), slices.Index(words, "-run"))
		if at < 0 {
			continue // it runs all tests of a package
		}
		folder := words[slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "./") })]
		names := testNames(t, filepath.Join(root(t), folder))
		for name := range strings.SplitSeq(strings.Trim(words[at+1], "^$()"), "|") {
			if !slices.Contains(names, name) {
				t.Errorf("step %s of scripts/soak: got the test %s, want one that exists in %s", words[0], name, folder)
			}
		}
	}
}
