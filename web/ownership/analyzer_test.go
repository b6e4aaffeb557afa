package ownership

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestAnalyzerReportsTheMarkedLines(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Analyzer, "lent", "passed")
}

// Check finds the same where the packages use the real package web.
func TestCheckReportsTheMarkedLines(t *testing.T) {
	for _, name := range []string{"lent", "passed"} {
		dir := filepath.Join("testdata", "src", name)
		text, err := os.ReadFile(filepath.Join(dir, name+".go"))
		if err != nil {
			t.Fatal(err)
		}
		found, err := Check(t.Context(), dir, "", ".")
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Count(string(text), "// want "); len(found) != want {
			t.Errorf("%s: got %d findings, want %d: %v", name, len(found), want, found)
		}
		for _, f := range found {
			if line := strings.Split(string(text), "\n")[f.Position.Line-1]; !strings.Contains(line, "// want ") {
				t.Errorf("got the finding %v, want none in a line without a want comment", f)
			}
		}
	}
}

func TestCheckReportsUnreadablePackages(t *testing.T) {
	for pattern, want := range map[string]string{
		"./nowhere": "nowhere",
		"nowhere/x": "nowhere/x",
	} {
		if found, err := Check(t.Context(), ".", "", pattern); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, %v, want an error of one line that names it", pattern, found, err)
		}
	}
}
