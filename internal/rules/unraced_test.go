package rules

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// unracedPattern finds the pattern of packages that scripts/test runs without the race detector.
var unracedPattern = regexp.MustCompile(`(?m)^\s*local unraced='([^']+)'`)

// unraced returns the pattern of import paths that scripts/test runs without the race detector.
func unraced(t *testing.T) *regexp.Regexp {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root(t), "scripts", "test"))
	if err != nil {
		t.Fatal(err)
	}
	m := unracedPattern.FindSubmatch(script)
	if m == nil {
		t.Fatal("scripts/test: got no line local unraced='PATTERN', want one")
	}
	return regexp.MustCompile(string(m[1]))
}

// concurrencyFaults returns a fault for every goroutine that a package of the pattern or its tests
// start, and for every import for memory shared by goroutines.
func concurrencyFaults(pattern *regexp.Regexp, files []*source) []string {
	const why = "scripts/test runs it without the race detector, because it starts no goroutine: take it off that list"
	var faults []string
	for _, s := range files {
		if !pattern.MatchString("weir/" + s.pkg()) {
			continue
		}
		for _, spec := range s.file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path == "sync" || path == "sync/atomic" {
				faults = append(faults, fmt.Sprintf("%s: %s imports %s: %s", s.at(spec), s.pkg(), path, why))
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				faults = append(faults, fmt.Sprintf("%s: %s starts a goroutine: %s", s.at(g), s.pkg(), why))
			}
			return true
		})
	}
	return faults
}

func TestPackagesWithoutTheRaceDetectorStartNoGoroutine(t *testing.T) {
	report(t, concurrencyFaults(unraced(t), sources(t)))
}

func TestConcurrencyFaultsCatchABadExample(t *testing.T) {
	pattern := regexp.MustCompile(`^weir/wire$`)
	for name, c := range map[string]struct {
		file, text string
		want       int
	}{
		"a goroutine":                 {"wire/a.go", "package wire\nfunc f() { go f() }\n", 1},
		"a goroutine of a test":       {"wire/a_test.go", "package wire\nfunc f() { go f() }\n", 1},
		"an atomic":                   {"wire/a.go", "package wire\nimport \"sync/atomic\"\nvar a atomic.Int64\n", 1},
		"a package that is not named": {"flow/a.go", "package flow\nfunc f() { go f() }\n", 0},
		"calls":                       {"wire/a.go", "package wire\nfunc f() { f() }\n", 0},
	} {
		if got := concurrencyFaults(pattern, []*source{parse(t, c.file, c.text)}); len(got) != c.want {
			t.Errorf("%s: got faults %q, want %d", name, got, c.want)
		}
	}
}
