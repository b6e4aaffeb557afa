package report

import (
	"strings"
	"testing"

	"weir/lab/report/reporttest"
	"weir/lab/result"
)

// TestANoteForSeveralSubjectsIsOneLine checks that notes with the same reason are one line in their
// section, and no caveat.
func TestANoteForSeveralSubjectsIsOneLine(t *testing.T) {
	r := reporttest.Quick()
	r.Skipped = nil
	for _, s := range []string{"c-fork", "c-epoll"} {
		r.Notes = append(r.Notes, result.Note{What: "system calls", Subject: s, Reason: "strace is not installed (apt-get install strace)"})
	}
	r.Notes = append(r.Notes, result.Note{What: "switch costs", Reason: "no clock"})
	text := markdownOf(t, r)
	for _, want := range []string{"Not available on this machine: system calls for c-fork and c-epoll. Strace is not installed (apt-get install strace)", "Not available on this machine: switch costs. No clock"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("got %q %d times in the report, want once", want, strings.Count(text, want))
		}
	}
	if strings.Contains(text, "did not take part") {
		t.Error("got a note as a subject that did not take part")
	}
}
