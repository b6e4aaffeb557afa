package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/lab/result"
)

func TestMessagesAheadOfTheWindowAreCounted(t *testing.T) {
	for _, c := range []struct {
		pattern string
		ahead   time.Duration
		want    int64
	}{
		{"staggered", 0, 0},
		{"staggered", 50 * time.Millisecond, 40}, // 8 connections x 100 messages a second
		{"poisson", 2500 * time.Microsecond, 2},
		// the burst before the one that begins the window was 10 ms earlier
		{"together", 9 * time.Millisecond, 0},
		{"together", 10 * time.Millisecond, 8},
		{"together", 35 * time.Millisecond, 24},
	} {
		trial := result.Trial{Pattern: c.pattern, Connections: 8, Messages: 1600, WindowS: 2}
		if got := sentAhead(&trial, Load{Rate: 100, Size: 10}, c.ahead); got != c.want {
			t.Errorf("%s, %v ahead: %d messages, want %d", c.pattern, c.ahead, got, c.want)
		}
	}
}

func TestReasonsAreCountedUnderEveryPattern(t *testing.T) {
	b := newBench(t, 0)
	b.experiment.Patterns = []string{"staggered", "together"}
	no := false
	b.experiment.Twin, b.options.Reasons = &no, true
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if len(found.Reasons) == 0 {
		t.Skipf("they cannot be counted here: %+v", found.Notes)
	}
	for i, pattern := range b.experiment.Patterns {
		r := found.Reasons[i]
		if r.Subject != "server-0" || r.Pattern != pattern || r.Connections != 4 {
			t.Errorf("reasons %d are of %s, %s, %d connections", i, r.Subject, r.Pattern, r.Connections)
		}
		// The server reads each message once, and tries again when there is none.
		if n := r.ByName["read"]; n < 0.9 || n > 3 {
			t.Errorf("%s: %.3f reads a message", pattern, n)
		}
	}
	if len(found.SwitchCosts) == 0 || found.Finished.IsZero() {
		t.Errorf("the price of a switch is %+v, finished %v", found.SwitchCosts, found.Finished)
	}
}

// TestATrialForReasonsThatFailsDoesNotFailTheRun: the server dies as soon as the trials are over.
func TestATrialForReasonsThatFailsDoesNotFailTheRun(t *testing.T) {
	b := newBench(t, 0)
	die := filepath.Join(b.options.Root, "die")
	text, err := os.ReadFile(b.file("0"))
	must(t, err)
	text = []byte(strings.Replace(string(text), "run = [", "run = [\"sh\", \"-c\", \"if [ -e "+die+" ]; then exit 4; fi; exec \\\"$@\\\"\", \"sh\", ", 1))
	must(t, os.WriteFile(b.file("0"), text, 0o644))
	no := false
	b.experiment.Twin, b.options.Reasons = &no, true
	found, err := b.run(t.Context(), func(p Progress) {
		if strings.HasPrefix(p.Phase, "counting") {
			must(t, os.WriteFile(die, nil, 0o644))
		}
	})
	must(t, err)
	var said string
	for _, n := range found.Notes {
		if n.What == "system calls" && n.Subject == "server-0" {
			said = n.Why
		}
	}
	if !strings.Contains(said, "exit status 4") || strings.Contains(said, "\n") {
		t.Errorf("of the reasons it says %q, want one line with the exit status", said)
	}
	if len(found.Trials) == 0 || found.Finished.IsZero() || len(found.SwitchCosts) == 0 {
		t.Errorf("%d trials, finished %v, the price of a switch is %+v", len(found.Trials), found.Finished, found.SwitchCosts)
	}
}
