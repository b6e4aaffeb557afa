package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTutorialWorks writes the files that the tutorial shows and types its commands. The comparison takes
// minutes and wants a quiet machine: it is made short, and left out unless WEIR_TUTORIAL is "run".
func TestTheTutorialWorks(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("perl is missing: the tutorial's server is written in it")
	}
	dir := t.TempDir()
	for _, b := range blocks(t, "compare-your-own-server.md") {
		switch {
		case b.file != "":
			file := filepath.Join(dir, b.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
		case b.kind == "sh":
			for line := range strings.Lines(b.text) {
				typed(t, dir, strings.TrimSpace(line))
			}
		}
	}
}

// typed runs a line of the tutorial in the root of the project, with its files in dir.
func typed(t *testing.T, dir, line string) {
	t.Helper()
	if strings.Contains(line, " lab run ") {
		if os.Getenv("WEIR_TUTORIAL") != "run" {
			t.Logf("left out: %s", line)
			return
		}
		line += " --time 20s --no-reasons"
	}
	var words []string
	for _, w := range strings.Fields(line) {
		switch {
		case w == "build/weir":
			w = theCommand(t)
		case strings.Contains(w, "my-server"):
			w = filepath.Join(dir, w)
		}
		words = append(words, w)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}
