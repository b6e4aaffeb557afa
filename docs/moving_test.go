package docs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// moving is the module with the programs of moving-from-gvisor.md.
const moving = "../subjects/stack-gvisor/moving"

// The functions of the page are those of the programs, and the programs compile.
func TestTheProgramsOfMovingFromGVisorCompile(t *testing.T) {
	programs := ""
	for _, name := range []string{"gvisor/gvisor.go", "weir/weir.go"} {
		text, err := os.ReadFile(moving + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		programs += string(text)
	}
	functions := 0
	for _, b := range blocks(t, "moving-from-gvisor.md") {
		for f := range strings.SplitSeq(b.text, "\nfunc ") {
			functions++
			if f = strings.TrimPrefix(strings.TrimSpace(f), "func "); !strings.Contains(programs, "func "+f+"\n") {
				t.Errorf("moving-from-gvisor.md has a function that its program has not: %.60q", f)
			}
		}
	}
	if functions != 9 {
		t.Errorf("got %d functions in moving-from-gvisor.md, want 9", functions)
	}
	vet := exec.Command("go", "vet", "./...")
	vet.Dir = moving
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("go vet of %s: got %v, want no error:\n%s", moving, err, out)
	}
}
