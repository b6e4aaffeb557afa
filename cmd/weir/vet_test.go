package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// a package with stages that touch what they have passed on
const touching = "../../web/ownership/testdata/src/passed"

// vet gives what the command prints and its error.
func vet(t *testing.T, c vetCmd) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	failed := c.Run(t.Context(), newTerminal(out, out))
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

// Each line has the form of a compiler's message. The error states the number of lines.
func TestVetPrintsPlaces(t *testing.T) {
	text, err := vet(t, vetCmd{Packages: []string{touching}})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if !strings.HasPrefix(lines[0], touching+"/passed.go:13:2: c is used here, but was passed on in line 12") {
		t.Errorf("first line: got %q, want the place, the use and the line that passed c on", lines[0])
	}
	if err == nil || !strings.HasPrefix(err.Error(), "6 uses of a Conn") || len(lines) != 6 {
		t.Errorf("got error %v and %d lines, want an error that counts 6 uses and 6 lines", err, len(lines))
	}
}

func TestVetPrintsJSON(t *testing.T) {
	for dir, want := range map[string]int{touching: 6, "../../web/http1": 0} {
		text, err := vet(t, vetCmd{Packages: []string{dir}, JSON: true})
		var found []vetFinding
		if bad := json.Unmarshal([]byte(text), &found); bad != nil || len(found) != want || (err != nil) != (want > 0) {
			t.Errorf("%s: %d findings, want %d; %v, %v", dir, len(found), want, err, bad)
		}
	}
}

func TestVetNamesAMissingPackage(t *testing.T) {
	if text, err := vet(t, vetCmd{Packages: []string{"./nowhere"}}); err == nil || !strings.Contains(err.Error(), "nowhere") || text != "" {
		t.Errorf("vet of a package that does not exist: got output %q, error %v, want none and an error that names it", text, err)
	}
}
