package pattern

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPatternFitsAndLearns(t *testing.T) {
	w := Words{}
	for _, c := range []struct {
		pattern, line string
		fits          bool
	}{
		{"PONG *", "PONG weir :1", true},
		{"PONG", "PONG weir", false},
		{"a.b", "axb", false},
		{"@msgid={m} *", "@msgid=r-1;x=y :one", false}, // a word ends before ;
		{"@msgid={m};*", "@msgid=r-1;x=y :one", true},
		{"REDACT #den {m}", "REDACT #den r-2", false}, // m is known now
		{"REDACT #den {m}", "REDACT #den r-1", true},
	} {
		if got := w.Fits(c.pattern, c.line); got != c.fits {
			t.Errorf("pattern %q, line %q: got %v, want %v", c.pattern, c.line, got, c.fits)
		}
	}
	if got := w.Fill("REDACT #den {m} {unknown} *"); got != "REDACT #den r-1 {unknown} *" {
		t.Errorf("Fill: got %q, want the known word filled in and others unchanged", got)
	}
}
