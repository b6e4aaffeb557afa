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
		{"staggered", 50 * time.Millisecond, 40}, // 8 connections x 100 messages per second
		{"poisson", 2500 * time.Microsecond, 2},
		// the burst before the one at the start of the window was 10 ms earlier
		{"together", 9 * time.Millisecond, 0},
		{"together", 10 * time.Millisecond, 8},
		{"together", 35 * time.Millisecond, 24},
	} {
		trial := result.Trial{Pattern: c.pattern, Connections: 8, Messages: 1600, WindowS: 2}
		if got := sentAhead(&trial, 100, c.ahead); got != c.want {
			t.Errorf("%s, %v ahead: got %d messages, want %d", c.pattern, c.ahead, got, c.want)
		}
	}
}

func TestReasonsAreCountedUnderEveryPattern(t *testing.T) {
	b := newBench(t, 0)
	b.experiment.Patterns = []string{"staggered", "together"}
	no := false
	b.experiment.AAControl, b.options.CountEvents = &no, true
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if len(found.EventCounts) == 0 {
		t.Skipf("system calls cannot be counted on this machine: %+v", found.Notes)
	}
	for i, pattern := range b.experiment.Patterns {
		r := found.EventCounts[i]
		if r.Subject != "server-0" || r.Pattern != pattern || r.Connections != 4 {
			t.Errorf("reasons %d: got %s, %s, %d connections; want server-0, %s, 4", i, r.Subject, r.Pattern, r.Connections, pattern)
		}
		// The server makes one read per message, and another that returns EAGAIN.
		if n := r.ByName["read"]; n < 0.9 || n > 3 {
			t.Errorf("%s: got %.3f reads per message, want 0.9 to 3", pattern, n)
		}
	}
	if len(found.SwitchCosts) == 0 || found.Finished.IsZero() {
		t.Errorf("got switch costs %+v, finished %v; want switch costs and a finished run", found.SwitchCosts, found.Finished)
	}
}

// TestFailedTrialForReasonsDoesNotFailTheRun: the server exits as soon as the trials are over.
func TestFailedTrialForReasonsDoesNotFailTheRun(t *testing.T) {
	b := newBench(t, 0)
	die := filepath.Join(b.options.Root, "die")
	text, err := os.ReadFile(b.file("0"))
	must(t, err)
	text = []byte(strings.Replace(string(text), "run = [", "run = [\"sh\", \"-c\", \"if [ -e "+die+" ]; then exit 4; fi; exec \\\"$@\\\"\", \"sh\", ", 1))
	must(t, os.WriteFile(b.file("0"), text, 0o644))
	no := false
	b.experiment.AAControl, b.options.CountEvents = &no, true
	found, err := b.run(t.Context(), func(p Progress) {
		if strings.HasPrefix(p.Phase, "counting") {
			must(t, os.WriteFile(die, nil, 0o644))
		}
	})
	must(t, err)
	var said string
	for _, n := range found.Notes {
		if n.What == "system calls" && n.Subject == "server-0" {
			said = n.Reason
		}
	}
	if !strings.Contains(said, "exit status 4") || strings.Contains(said, "\n") {
		t.Errorf("got note %q, want one line with the exit status", said)
	}
	if len(found.Trials) == 0 || found.Finished.IsZero() || len(found.SwitchCosts) == 0 {
		t.Errorf("got %d trials, finished %v, switch costs %+v; want all of them though one trial failed", len(found.Trials), found.Finished, found.SwitchCosts)
	}
}
