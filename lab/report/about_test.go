package report

import (
	"strings"
	"testing"
)

// TestVersionsAreTold: the lab's own version and that of what a subject runs on stand in the
// section on the machine, each once, and beside the subject.
func TestVersionsAreTold(t *testing.T) {
	r := quick()
	r.Machine.Weir = "v1.2.3"
	r.Subjects[0].Version, r.Subjects[1].Version = "JDK 25.0.3", "JDK 25.0.3"
	text := string(documentOf(r).markdown())
	for _, want := range []string{"| Weir | v1.2.3 |", "| Versions | go1.26.8, gcc 12.2.0, JDK 25.0.3 |", "| c-fork | C | JDK 25.0.3 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not hold %q", want)
		}
	}
}
