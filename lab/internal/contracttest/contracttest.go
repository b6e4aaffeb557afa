// Package contracttest tests the checks of a contract with servers that fulfil it except for one
// fault. The test binary itself is such a server: its TestMain runs it.
//
// # Limitations
//
// A fault is caught at 127.0.0.1 only.
package contracttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/lab/contract"
	"weir/lab/subject"
)

// Subject returns the test binary with these arguments as a subject, with further lines of its
// description.
func Subject(t *testing.T, says string, args ...string) *subject.Subject {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := fmt.Sprintf("%q", self)
	for _, a := range args {
		run += fmt.Sprintf(", %q", a)
	}
	file := filepath.Join(t.TempDir(), "subject.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "name=\"faulty\"\nlanguage=\"Go\"\n%s\nrun=[%s]\n", says, run), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := subject.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Passes runs the checks of a kind on a subject, which must pass them.
func Passes(t *testing.T, k contract.Kind, s *subject.Subject, o contract.Options) {
	t.Helper()
	for _, found := range contract.Run(t.Context(), s, []contract.Kind{k}, o) {
		where := fmt.Sprintf("%s, %s, %s", found.Name, found.Host, found.Workload)
		if found.Err != nil {
			t.Errorf("%s: got error %v, want a correct server to pass", where, found.Err)
		}
		if found.Skipped != "" {
			t.Logf("%s: skipped: %s", where, found.Skipped)
		}
	}
}

// Fault is one fault of a server, and the check that catches it. It is an alias, so that a table
// may leave out the names of its fields.
type Fault = struct {
	Fault    string // as the server names it
	Workload string
	Check    string // name of the check
	Want     string // part of the check's error
}

// Catches tests that every fault is caught by its check, and that every check of the kind catches a
// fault, except those that another package tests. Faulty returns the server with a fault.
func Catches(t *testing.T, k contract.Kind, faulty func(t *testing.T, fault string, workloads ...string) *subject.Subject, faults []Fault, except ...string) {
	covered := slices.Clone(except)
	for _, f := range faults {
		covered = append(covered, f.Check)
		t.Run(f.Fault+"/"+f.Workload+"/"+f.Check, func(t *testing.T) {
			t.Parallel()
			found := contract.Run(t.Context(), faulty(t, f.Fault, f.Workload), []contract.Kind{k},
				contract.Options{Hosts: []string{"127.0.0.1"}, Only: []string{f.Check}, Timeout: 4 * time.Second})
			if len(found) != 1 || found[0].Err == nil {
				t.Fatalf("got %+v, want one failure", found)
			}
			if text := found[0].Err.Error(); !strings.Contains(text, f.Want) {
				t.Errorf("got error %s, want one with %q", text, f.Want)
			}
		})
	}
	for _, name := range contract.Names([]contract.Kind{k}) {
		if !slices.Contains(covered, name) {
			t.Errorf("got no fault that is caught by %q, want one", name)
		}
	}
}
