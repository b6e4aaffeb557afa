package contract

import (
	"fmt"
	"strings"
	"testing"

	"weir/lab/subject"
)

// hosts returns the addresses for all checks of a subject; nil: those of Options.Hosts, IPv4 and
// IPv6. All checks of web and chat subjects run at one address only, because some of these run in
// a virtual machine (such as Java's), which starts slowly. TestEverySubject adds one check at ::1.
func hosts(s *subject.Subject) []string {
	if isWeb(s.Workloads[0]) || isChat(s.Workloads[0]) {
		return []string{"127.0.0.1"}
	}
	return nil
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
	built := t.Run("build", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				if missing := s.Missing(); missing != "" {
					t.Skipf("%s: %s", s.Name, missing)
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
			found := Check(t.Context(), s, Options{OwnFlags: HasOwnFlags(s), Hosts: hosts(s)})
			if isChat(s.Workloads[0]) {
				found = append(found, Check(t.Context(), s, Options{Only: []string{"fan-out"}, Hosts: []string{"::1"}})...)
			}
			if isWeb(s.Workloads[0]) {
				found = append(found, Check(t.Context(), s, Options{Only: []string{"body"}, Hosts: []string{"::1"}})...)
			}
			for _, o := range found {
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
