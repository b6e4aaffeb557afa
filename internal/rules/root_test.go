package rules

import (
	"slices"
	"strings"
	"testing"
)

// rootFiles lists the files of the root folder: a reader sees them first.
var rootFiles = []string{
	".gitignore", "ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "go.mod", "go.sum", "staticcheck.conf",
}

func rootFaults(names []string) []string {
	var faults []string
	for _, name := range names {
		if !strings.Contains(name, "/") && !slices.Contains(rootFiles, name) {
			faults = append(faults, name+" is in the root folder: remove it if a command left it there, or add it to rootFiles")
		}
	}
	return faults
}

func TestTheRootFolderHoldsNothingElse(t *testing.T) { report(t, rootFaults(tree(t))) }

func TestRootRuleCatchesABadExample(t *testing.T) {
	if faults := rootFaults([]string{"go.mod", "a.out", "lab/a.out"}); len(faults) != 1 {
		t.Errorf("got faults %q, want one for a.out", faults)
	}
}
