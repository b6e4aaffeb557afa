package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTutorialOfStreamsWorks writes the files of the tutorial, runs its commands, and compares
// their output with the tutorial's. The comparison takes minutes and needs an idle machine: it is
// shortened, and skipped unless WEIR_TUTORIAL is "run".
func TestTheTutorialOfStreamsWorks(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("perl is missing: the tutorial's server is written in it")
	}
	dir, output := t.TempDir(), ""
	for _, b := range blocks(t, "compare-a-stream-server.md") {
		switch {
		case b.kind == "text" && b.file == "output":
			if output != b.text {
				t.Errorf("got the output\n%s\nwant, as the tutorial shows,\n%s", output, b.text)
			}
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
				output = typeLine(t, dir, strings.TrimSpace(line))
			}
		}
	}
}

// allRejected is the exit status if every trial was rejected: the machine was busy.
const allRejected = 3

// typeLine runs a line of the tutorial in the root of the project, with its files in dir, and
// returns its output.
func typeLine(t *testing.T, dir, line string) string {
	t.Helper()
	if strings.Contains(line, " lab run ") {
		if os.Getenv("WEIR_TUTORIAL") != "run" {
			t.Logf("skipped: %s", line)
			return ""
		}
		line += " --time 20s --no-reasons"
	}
	var words []string
	for _, w := range strings.Fields(line) {
		switch {
		case w == "build/weir":
			w = weirBinary(t)
		case strings.Contains(w, "my-server"):
			w = filepath.Join(dir, w)
		}
		words = append(words, w)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != allRejected {
		t.Fatalf("%s: got %v, want exit status 0, or %d if every trial was rejected\n%s", line, err, allRejected, out)
	}
	return string(out)
}

// TestTheTutorialOfAnyServerWorks types the tutorial of HTTP servers into a shell, in a folder with
// its servers. The comparison is shortened, and skipped unless WEIR_TUTORIAL is "run".
func TestTheTutorialOfAnyServerWorks(t *testing.T) {
	for _, program := range []string{"rustc", "node", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is missing: a server of the tutorial needs it")
		}
	}
	dir, output := t.TempDir(), ""
	for _, b := range blocks(t, "compare-your-own-server.md") {
		switch {
		case b.kind == "text" && b.file == "output":
			if output != b.text {
				t.Errorf("got the output\n%s\nwant, as the tutorial shows,\n%s", output, b.text)
			}
		case b.file != "":
			if err := os.WriteFile(filepath.Join(dir, b.file), []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
		case b.kind == "sh" && strings.Contains(b.text, " lab run ") && os.Getenv("WEIR_TUTORIAL") != "run":
			t.Logf("skipped: %s", b.text)
		case b.kind == "sh":
			text := strings.ReplaceAll(b.text, " lab run ", " lab run --time 20s --no-reasons ")
			cmd := exec.Command("sh", "-ec", strings.ReplaceAll(text, "build/weir", weirBinary(t)))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil && !(strings.Contains(text, " lab run ") && cmd.ProcessState.ExitCode() == allRejected) {
				t.Fatalf("%s: got %v, want exit status 0\n%s", text, err, out)
			}
			output = string(out)
		}
	}
}
