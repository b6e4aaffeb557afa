package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScriptsAreValid has each shell script read by its own shell: one stray apostrophe in the
// table of scripts/setup would stop every make target.
func TestScriptsAreValid(t *testing.T) {
	checked := 0
	for _, name := range tree(t) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		shell := first[strings.LastIndexAny(first, "/ ")+1:]
		if !strings.HasPrefix(first, "#!") || shell != "sh" && shell != "bash" {
			continue
		}
		checked++
		cmd := exec.Command(shell, "-n", name)
		cmd.Dir = root(t)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s -n %s: got %v, want a script without syntax errors:\n%s", shell, name, err, out)
		}
	}
	if checked < 5 {
		t.Errorf("got %d shell scripts, want at least 5", checked)
	}
}

// TestSetupHasAReasonForEachPackage runs every line of the table of scripts/setup: a line that is
// not of the form "target package test reason" makes it print an error.
func TestSetupHasAReasonForEachPackage(t *testing.T) {
	for _, target := range []string{"lab", "test", "portability", "peers", "web-bars"} {
		cmd := exec.Command("scripts/setup", target)
		cmd.Dir = root(t)
		cmd.Env = append(os.Environ(), "WEIR_SETUP=print")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("scripts/setup %s: got %v, want success:\n%s", target, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(line, "setup: ") {
				t.Errorf("scripts/setup %s: got the line %q, want lines that begin with \"setup: \"", target, line)
			}
		}
	}
}
