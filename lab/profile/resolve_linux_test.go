package profile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/profile/sampler"
)

// TestAReplacedProgramKeepsItsOwnNames: a build puts another program at the path of one that runs.
// Here that is cat, and this program, of Go, takes its place.
func TestAReplacedProgramKeepsItsOwnNames(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	copyFile(t, cat, program)
	cmd := exec.Command(program)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it ends with its standard input
	defer stdin.Close()
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "/proc/self/exe", program)
	image := newResolver(nil).image(cmd.Process.Pid, codeOf(t, cmd.Process.Pid, program))
	if image == nil && os.Geteuid() != 0 {
		t.Skip("only root can read a file that has no name")
	}
	if image == nil || image.Go {
		t.Errorf("got %+v, want the tables of the program that runs", image)
	}
}

// codeOf returns the mapping of the code of a process's deleted program.
func codeOf(t *testing.T, pid int, program string) (m sampler.Mapping) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " r-xp ") && strings.HasSuffix(line, program+" (deleted)\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &m.Start, &m.End); err != nil {
				t.Fatal(err)
			}
			m.Path, m.Deleted = program, true
			return m
		}
	}
	t.Fatalf("got the mappings\n%s, want code of %s", text, program)
	return m
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
