package lab

import (
	"strings"
	"testing"
	"time"

	"weir/lab/result"
)

func TestRefusals(t *testing.T) {
	good := func() (*result.Trial, Evidence) {
		return &result.Trial{Pattern: "staggered", Connections: 64, Messages: 8000, AchievedRatio: 1,
			LatenessUS: result.Percentiles{P50: 5, P99: 9}}, Evidence{Window: time.Second}
	}
	for _, test := range []struct {
		name  string
		spoil func(*result.Trial, *Evidence)
		want  string // part of the reason; empty: accepted
	}{
		{"a clean trial counts", func(*result.Trial, *Evidence) {}, ""},
		{"too few messages were sent", func(t *result.Trial, _ *Evidence) { t.AchievedRatio = 0.99 }, "load short"},
		{"connections were full", func(t *result.Trial, _ *Evidence) { t.Behind = 9 }, "load blocked"},
		{"the generator was often late", func(t *result.Trial, _ *Evidence) { t.LatenessUS.P50 = 101 }, "median"},
		{"the generator was sometimes very late", func(t *result.Trial, _ *Evidence) { t.LatenessUS.P99 = 1001 }, "99th percentile"},
		{"a burst may take its time", func(t *result.Trial, _ *Evidence) {
			t.Pattern, t.LatenessUS.P50, t.LatenessUS.P99 = "together", 300, 900
		}, ""},
		{"the generator did not get its core", func(t *result.Trial, _ *Evidence) { t.LoadRunQueue = 0.06 }, "waited"},
		{"on shared cores it cannot always have it", func(t *result.Trial, ev *Evidence) { t.LoadRunQueue, ev.Shared = 0.06, true }, ""},
		{"the hypervisor took the machine away", func(_ *result.Trial, ev *Evidence) { ev.Steal = 11 * time.Millisecond }, "hypervisor"},
		{"a neighbour took a core", func(_ *result.Trial, ev *Evidence) {
			ev.Neighbour, ev.NeighbourWho = 60*time.Millisecond, "cc1"
		}, "cc1"},
		{"10,000 connections cannot all be on time", func(t *result.Trial, _ *Evidence) {
			t.Connections, t.Pattern, t.LatenessUS.P99 = 10_000, "together", 80_000
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			trial, ev := good()
			test.spoil(trial, &ev)
			got := strings.Join(refusals(trial, ev), "; ")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("refused because %q, want a reason with %q", got, test.want)
			}
		})
	}
}
