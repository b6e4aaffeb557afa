package lab

import (
	"strings"
	"testing"
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
)

// goodTrial returns an accepted trial, and the evidence for it.
func goodTrial() (*result.Trial, workload.Evidence) {
	return &result.Trial{Pattern: load.Staggered, Connections: 64, Messages: 8000, Bytes: 8_000_000, AchievedRatio: 1,
		LatenessUS: result.Percentiles{P50: 5, P99: 9}}, workload.Evidence{Window: time.Second}
}

// sessionOf opens a workload without loads.
func sessionOf(t *testing.T, name string) workload.Session {
	t.Helper()
	k, err := kindNamed(name)
	must(t, err)
	v, err := k.Open(t.Context(), &workload.Site{Workload: name, Dir: t.TempDir()}, nil)
	must(t, err)
	return v
}

func TestDisturbancesRejectATrial(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*result.Trial, *workload.Evidence)
		want  string // part of the reason; empty: accepted
	}{
		{"a clean trial counts", func(*result.Trial, *workload.Evidence) {}, ""},
		{"too few messages were sent", func(t *result.Trial, _ *workload.Evidence) { t.AchievedRatio = 0.99 }, "load short"},
		{"the generator was often late", func(t *result.Trial, _ *workload.Evidence) { t.LatenessUS.P50 = 101 }, "median"},
		{"the generator was sometimes very late", func(t *result.Trial, _ *workload.Evidence) { t.LatenessUS.P99 = 1001 }, "99th percentile"},
		{"together: a burst that takes 0.9 ms to send is accepted", func(t *result.Trial, _ *workload.Evidence) {
			t.Pattern, t.LatenessUS.P50, t.LatenessUS.P99 = load.Together, 300, 900
		}, ""},
		{"the generator did not get its core", func(t *result.Trial, _ *workload.Evidence) { t.LoadRunQueue = 0.06 }, "waited"},
		{"on shared cores the generator may wait for its core", func(t *result.Trial, ev *workload.Evidence) { t.LoadRunQueue, ev.SharedCores = 0.06, true }, ""},
		{"the hypervisor took the machine away", func(_ *result.Trial, ev *workload.Evidence) { ev.Steal = 30 * time.Millisecond }, "hypervisor"},
		{"a second with one tick of the hypervisor's more than its hundredth", func(_ *result.Trial, ev *workload.Evidence) { ev.Steal = 20 * time.Millisecond }, ""},
		{"a neighbour took a core", func(_ *result.Trial, ev *workload.Evidence) {
			ev.Neighbour, ev.NeighbourName = 60*time.Millisecond, "cc1"
		}, "cc1"},
		{"the CPU of a server on this machine that the lab did not start", func(_ *result.Trial, ev *workload.Evidence) {
			ev.Neighbour, ev.ServerUnaccounted = 600*time.Millisecond, true
		}, ""},
		{"the lab disturbed its own measurement", func(_ *result.Trial, ev *workload.Evidence) { ev.Lab = 60 * time.Millisecond }, "the lab itself"},
		{"together, 10,000 connections: a burst that takes 80 ms to send is accepted", func(t *result.Trial, _ *workload.Evidence) {
			t.Connections, t.Pattern, t.LatenessUS.P99 = 10_000, load.Together, 80_000
		}, ""},
		{"staggered, 10,000 connections: a 99th percentile of 5.1 ms is too late", func(t *result.Trial, _ *workload.Evidence) { t.Connections, t.LatenessUS.P99 = 10_000, 5_100 }, "99th percentile"},
		{"poisson, 10,000 connections: a median of 1.1 ms is too late", func(t *result.Trial, _ *workload.Evidence) {
			t.Connections, t.Pattern, t.LatenessUS.P50 = 10_000, load.Poisson, 1_100
		}, "median"},
		{"staggered, 10,000 connections: a median of 0.3 ms and a 99th percentile of 4.9 ms are accepted", func(t *result.Trial, _ *workload.Evidence) {
			t.Connections, t.LatenessUS.P50, t.LatenessUS.P99 = 10_000, 300, 4_900
		}, ""},
		{"on shared cores many connections widen nothing", func(t *result.Trial, ev *workload.Evidence) {
			t.Connections, t.LatenessUS.P99, ev.SharedCores = 10_000, 16_100, true
		}, "99th percentile"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trial, ev := goodTrial()
			test.spoil(trial, &ev)
			judgeTrial(sessionOf(t, "sink"), trial, ev)
			got := strings.Join(trial.RejectedBecause, "; ")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) || len(trial.FailedBecause) > 0 || trial.Accepted != (got == "") {
				t.Errorf("got accepted %v, failures %q, reasons for rejection %q, want a reason with %q", trial.Accepted, trial.FailedBecause, got, test.want)
			}
		})
	}
}

// TestWrongAnswersAreFailures: a wrong answer is a failure in spite of disturbances. Not keeping up
// is a failure only without them.
func TestWrongAnswersAreFailures(t *testing.T) {
	for _, test := range []struct {
		name   string
		spoil  func(*result.Trial, *workload.Evidence)
		always bool // even on a disturbed machine
		want   string
	}{
		{"an echo was wrong", func(_ *result.Trial, ev *workload.Evidence) { ev.Errors = map[string]int64{"wrong byte": 3} }, true, "load error: wrong byte, 3 times"},
		{"connections ended", func(t *result.Trial, ev *workload.Evidence) {
			t.AchievedRatio, ev.Errors = 0.5, map[string]int64{"closed early": 1, "connection reset": 2}
		}, true, "load error: closed early, 1 times; load error: connection reset, 2 times"},
		{"echoes were missing", func(_ *result.Trial, ev *workload.Evidence) { ev.Errors = map[string]int64{"echo missing": 2} }, false, "echo missing"},
		{"connections were full", func(t *result.Trial, _ *workload.Evidence) { t.Behind = 9 }, false, "did not carry the load"},
		{"what waits for room is late by no fault of the generator", func(t *result.Trial, _ *workload.Evidence) {
			t.Behind, t.AchievedRatio, t.LatenessUS.P50, t.LatenessUS.P99 = 4000, 0.5, 1e5, 1e6
		}, false, "did not carry the load"},
		{"bytes were left unread", func(_ *result.Trial, ev *workload.Evidence) { ev.UnreadBytes = 4_000_000 }, false, "did not read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trial, ev := goodTrial()
			test.spoil(trial, &ev)
			judgeTrial(sessionOf(t, "sink"), trial, ev)
			if got := strings.Join(trial.FailedBecause, "; "); trial.Accepted || len(trial.RejectedBecause) > 0 || !strings.Contains(got, test.want) {
				t.Errorf("got accepted %v, reasons for rejection %q, failures %q, want %q", trial.Accepted, trial.RejectedBecause, got, test.want)
			}
			if !isFinal(trial) {
				t.Error("got a retry, want the trial to be final")
			}
			disturbed, ev := goodTrial()
			test.spoil(disturbed, &ev)
			ev.Steal = time.Second
			judgeTrial(sessionOf(t, "sink"), disturbed, ev)
			if failed := len(disturbed.FailedBecause) > 0; failed != test.always || disturbed.Accepted {
				t.Errorf("on a disturbed machine: got accepted %v, failures %q; want it not accepted, and failed: %t", disturbed.Accepted, disturbed.FailedBecause, test.always)
			}
		})
	}
}

func TestFewUnreadMessagesAreAccepted(t *testing.T) {
	trial, ev := goodTrial()
	trial.Messages, trial.Bytes, ev.UnreadBytes = 64, 64_000, 4*64_000
	if judgeTrial(sessionOf(t, "sink"), trial, ev); !trial.Accepted {
		t.Errorf("four unread messages per connection: got failures %q, want none", trial.FailedBecause)
	}
}

func TestDiskThreadsAreNotNeighbours(t *testing.T) {
	for name, want := range map[string]bool{"kworker/1:1H-kblockd": true, "kworker/0:2-events": false, "cc1": false, "my-kblockd": false, "kworker/u8:1": false} {
		if isDiskThread(name) != want {
			t.Errorf("%s: got isDiskThread %t, want %t", name, !want, want)
		}
	}
}
