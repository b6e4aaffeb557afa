package report

import (
	"strings"
	"testing"

	"weir/lab/result"
)

// TestNotesAreSaidOnce: one reason for many subjects is one line in the section that lacks the
// figures; it is no caveat of the answer, and nobody is said not to have taken part.
func TestNotesAreSaidOnce(t *testing.T) {
	r := quick()
	r.Skipped = nil
	for _, s := range []string{"c-fork", "c-epoll"} {
		r.Notes = append(r.Notes, result.Note{What: "system calls", Subject: s, Why: "strace is not installed (apt-get install strace)"})
	}
	r.Notes = append(r.Notes, result.Note{What: "switch costs", Why: "no clock"})
	text := string(documentOf(r).markdown())
	for _, want := range []string{"Not found out here: system calls of c-fork and c-epoll. Strace is not installed (apt-get install strace)", "Not found out here: switch costs. No clock"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q stands %d times in the report", want, strings.Count(text, want))
		}
	}
	if strings.Contains(text, "did not take part") {
		t.Error("a note is taken for a subject that did not take part")
	}
}
