package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/lab"
	"weir/lab/result"
	"weir/lab/workload"
)

func trialProgress(done, total int, left time.Duration) lab.Progress {
	return lab.Progress{Phase: "trial", What: "go-loop", Done: done, Total: total, Remaining: left, CPU: -1, Unit: "message",
		Place: lab.Place{Cell: workload.Cell{Load: "messages", Connections: 64, Pattern: "staggered"}, Block: done / 4}}
}

func TestTheBarShowsTimeRatherThanTrials(t *testing.T) {
	start := time.Now()
	m := liveModel{}.at(trialProgress(0, 10, 0), start)
	m = m.at(trialProgress(1, 10, 90*time.Second), start.Add(10*time.Second))
	for _, c := range []struct {
		after time.Duration
		want  float64
		line  string
	}{
		{10 * time.Second, 0.1, "about 1m30s left"},
		{55 * time.Second, 0.55, "about 45s left"},
		{100 * time.Second, 1, "longer than estimated"},
	} {
		now := start.Add(c.after)
		if got := m.share(now); got < c.want-0.01 || got > c.want+0.01 {
			t.Errorf("after %v: got a share of %.2f, want %.2f", c.after, got, c.want)
		}
		if line := m.line(now); !strings.Contains(line, c.line) {
			t.Errorf("after %v: got %q, want %q", c.after, line, c.line)
		}
	}
}

func TestTheViewGivesTheReasonOfTheLastRejection(t *testing.T) {
	p := trialProgress(3, 10, time.Minute)
	p.Rejected = 1
	p.Last = &result.Trial{Subject: "c-epoll", RejectedBecause: []string{"another process took 12.0 % of a core: chromium (process 7)"}}
	m := liveModel{}.at(p, time.Now())
	m = m.at(trialProgress(4, 10, time.Minute), time.Now())
	m.progress.Rejected, m.now = 1, time.Now()
	for _, text := range []string{m.line(time.Now()), m.View().Content} {
		if !strings.Contains(text, "1 rejected") || !strings.Contains(text, "last rejected: c-epoll: another process took 12.0 % of a core: chromium") {
			t.Errorf("got %q, want the number of rejections and the last reason", text)
		}
	}
}

func TestTrialsThatCountSystemCallsAreNotCountedAsTrials(t *testing.T) {
	m := liveModel{}.at(trialProgress(9, 10, time.Second), time.Now())
	m = m.at(lab.Progress{Phase: "counting the system calls of", What: "go-loop", CPU: -1}, time.Now())
	m = m.at(trialProgress(10, 10, 0), time.Now().Add(time.Second))
	if got := m.line(time.Now().Add(3 * time.Second)); got != "counting the system calls of go-loop, for 3s" {
		t.Errorf("got %q, want the phase with its time", got)
	}
}

// Without a terminal a run says where it is at least every ten seconds.
func TestARunWithoutATerminalIsNeverSilentForLong(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stderr")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	synctest.Test(t, func(t *testing.T) {
		v := newLiveView(&terminal{err: f})
		v.warn("the machine is busy")
		v.show(trialProgress(0, 10, 0))
		v.show(trialProgress(1, 10, time.Minute)) // in the same block: no line of its own
		time.Sleep(25*time.Second + time.Millisecond)
		v.show(lab.Progress{Phase: "measuring", What: "the price of a switch", CPU: -1})
		time.Sleep(11 * time.Second)
		v.close()
		v.close()
	})
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range bytes.Lines(text) {
		lines = append(lines, strings.TrimSpace(string(line)))
	}
	want := []string{"weir: warning: the machine is busy", "trial 1 of 10: go-loop", "trial 2 of 10: go-loop", "trial 2 of 10: go-loop",
		"measuring the price of a switch", "measuring the price of a switch, for 11s"}
	if len(lines) != len(want) {
		t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(want), text)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want[i])
		}
	}
}

func TestATotalThatTheTimeLimitMayCutIsAMaximum(t *testing.T) {
	p := lab.Progress{Phase: "trial", What: "go-loop", Total: 10, AtMost: true, Unit: "message", CPU: -1}
	now := time.Now()
	m := liveModel{}.at(p, now)
	for _, got := range []string{m.line(now), m.View().Content} {
		if want := "trial 1 of at most 10"; !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestTheHeadlineIsNewsWithinTheTrials: it stays on the screen, and the trials go on after it.
func TestTheHeadlineIsNewsWithinTheTrials(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	v := &liveView{t: &terminal{err: file}}
	p := trialProgress(0, 10, 0)
	p.Place.Block = result.FirstHeadlineBlock + 1
	v.show(p)
	v.show(lab.Progress{Phase: "headline:", What: "a and b are different", CPU: -1})
	v.show(trialProgress(4, 10, 0))
	said, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"staggered, headline's block 2\n", "headline: a and b are different\n", "staggered, block 2\n"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("got %q, want a line with %q", said, want)
		}
	}
}
