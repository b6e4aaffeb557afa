package report

import (
	"strings"
	"testing"
	"weir/lab/report/reporttest"
)

// TestVersionsAreReported checks that the versions of the lab and of the subjects' runtimes are in
// the section on the machine, each once, and in the rows of the subjects.
func TestVersionsAreReported(t *testing.T) {
	r := reporttest.Quick()
	r.Machine.Weir = "v1.2.3"
	r.Subjects[0].Version, r.Subjects[1].Version = "JDK 25.0.3", "JDK 25.0.3"
	text := markdownOf(t, r)
	for _, want := range []string{"| Weir | v1.2.3 |", "| Versions | go1.26.8, gcc 12.2.0, JDK 25.0.3 |", "| c-fork | C | JDK 25.0.3 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("got a report without %q", want)
		}
	}
}
