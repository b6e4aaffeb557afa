package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/lab"
	"weir/lab/contract"
	"weir/lab/subject"
)

// onlyIPv6 is the one check at ::1 of the subjects of some workloads. All others run at 127.0.0.1
// only, because some of these subjects run in a virtual machine (such as Java's), which starts
// slowly.
var onlyIPv6 = map[string]string{"page": "body", "files": "body", "proxy": "body", "chat": "fan-out"}

// runChecks runs the checks of a subject at IPv4 and IPv6.
func runChecks(t *testing.T, s *subject.Subject) []contract.Outcome {
	name := onlyIPv6[s.Workloads[0]]
	if name == "" {
		return contract.Run(t.Context(), s, lab.ContractKinds(), contract.Options{})
	}
	return append(contract.Run(t.Context(), s, lab.ContractKinds(), contract.Options{Hosts: []string{"127.0.0.1"}}),
		contract.Run(t.Context(), s, lab.ContractKinds(), contract.Options{Hosts: []string{"::1"}, Only: []string{name}})...)
}

// TestEverySubjectFulfilsTheContract checks the subjects of the tree that can be built on this
// machine.
func TestEverySubjectFulfilsTheContract(t *testing.T) {
	all, err := subject.Discover("../..")
	if err != nil {
		t.Error(err)
	}
	// All are built before the first is checked, because a server may not exit in time while
	// compilers run.
	// Go builds are one after another: they would compile the same packages several times.
	var goBuilds sync.Mutex
	built := t.Run("build", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				if missing := s.Missing(); missing != "" {
					t.Skipf("%s: %s", s.Name, missing)
				}
				if slices.Contains(s.BuildCmd, "go") {
					goBuilds.Lock()
					defer goBuilds.Unlock()
				}
				if err := s.Build(t.Context(), nil); err != nil {
					t.Error(err)
				}
			})
		}
	})
	if !built {
		return
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if missing := s.Missing(); missing != "" {
				t.Skipf("%s: %s", s.Name, missing)
			}
			var skipped []string
			for _, o := range runChecks(t, s) {
				where := fmt.Sprintf("%s (%s, %s)", o.Name, o.Workload, o.Host)
				if o.Err != nil {
					t.Errorf("%s: got error %v, want the subject to pass", where, o.Err)
				}
				if o.Skipped != "" {
					skipped = append(skipped, where+": "+o.Skipped)
				}
			}
			if len(skipped) > 0 {
				t.Logf("not checked:\n%s", strings.Join(skipped, "\n"))
			}
		})
	}
}
