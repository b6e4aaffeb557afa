package lab

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
)

// simulatedKnee prepares a search for the knee of a subject that keeps up with 1,000 messages a
// second.
func simulatedKnee(t *testing.T) (s *kneeSearch, probe func() (more bool)) {
	t.Helper()
	criterion, err := load.ParseCriterion("p99 < 10ms")
	must(t, err)
	s = newKneeSearch(Place{Subject: "a"}, load.Search{Criterion: criterion, From: 100, MinRate: 1, MaxRate: 1e6})
	t.Cleanup(s.stop)
	return s, func() bool {
		rate, more := s.next()
		s.reported = load.Report{OfferedRate: rate, MessageRate: rate, Offered: int64(rate), Messages: int64(rate)}
		if rate > 1000 {
			s.reported.LatencyUS.P99 = 20_000
		}
		return more
	}
}

func TestTheSearchForAKneeEndsWithAnInterval(t *testing.T) {
	s, probe := simulatedKnee(t)
	for probe() { //nolint:revive // the search ends by itself
	}
	k := s.found()
	if len(k.Estimates) != 5 || !k.Confirmed || math.Abs(k.Rate-1000) > 30 || k.Low > k.Rate || k.High < k.Rate || k.Criterion != "p99 < 10ms" || k.Why != "" {
		t.Errorf("got %+v, want five estimates near 1000/s and their range", k)
	}
}

func TestASearchThatIsStoppedKeepsItsCompleteEstimates(t *testing.T) {
	s, probe := simulatedKnee(t)
	for range 30 { // into the third confirmation
		probe()
	}
	s.stop()
	k := s.found()
	if n := len(k.Estimates); n == 0 || n == 5 || k.Confirmed || k.Low < 900 || k.Why != errKneeStopped.Error() {
		t.Errorf("got %+v, want one to four estimates, not confirmed, with the reason", k)
	}
}

// TestKneesAreSearchedInTurnsAndSurviveAnInterruption: two subjects, which are one program, have
// one probe each in every round. A resumed run repeats no probe.
func TestKneesAreSearchedInTurnsAndSurviveAnInterruption(t *testing.T) {
	b := saturating(t)
	e := b.experiment
	e.Saturation, e.Knee = nil, "p99 < 50ms"
	e.Duration, e.TimeLimit = workload.Duration(300*time.Millisecond), workload.Duration(7*time.Second)
	b.addCopy(t, "slow", "slower")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	cut, err := b.run(ctx, func(p Progress) {
		if p.Done == 3 && p.Step == "searching its knee" {
			interrupt()
		}
	})
	if !errors.Is(err, context.Canceled) || len(cut.KneeProbes) != 3 || cut.KneeProbes[0].Subject == cut.KneeProbes[1].Subject {
		t.Fatalf("got probes %+v and error %v, want three in turns and context.Canceled", cut.KneeProbes, err)
	}
	if len(cut.Knees) != 2 {
		t.Errorf("got the knees %+v of the interrupted run, want what was found so far of both", cut.Knees)
	}
	r, err := Resume(t.Context(), b.options.Out, b.options.Generator, nil)
	must(t, err)
	found, err := b.finish(t.Context(), r)
	must(t, err)
	if len(found.KneeProbes) <= 3 || !sameProbes(found.KneeProbes[:3], cut.KneeProbes) || len(found.Knees) != 2 {
		t.Errorf("got %d probes and knees %+v, want the three of before, more of them, and two knees", len(found.KneeProbes), found.Knees)
	}
	for _, p := range found.KneeProbes {
		if p.Rate < 300 && p.Why != "" && len(p.DisturbedBy) == 0 {
			t.Errorf("at %v/s: got %q, want a server for 500/s to keep up", p.Rate, p.Why)
		}
	}
}

func sameProbes(a, b []result.KneeProbe) bool {
	for i := range a {
		a[i].Started = b[i].Started // JSON has no monotonic clock
	}
	return reflect.DeepEqual(a, b)
}

func TestAnInvalidKneeIsRejected(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{strings.Replace(smallWeb, "workload", "knee = \"p99 under 5\"\nworkload", 1), "the criterion \"p99 under 5\" is invalid: write a percentile"},
		{"knee = \"p99 < 5ms\"\ntwin = true\n" + smallWeb, "no A/A control"},
		{"knee = \"p99 < 5ms\"\n" + strings.Replace(smallWeb, "files", "sink", 1) + "rate = 1\nsize = 1\n", "its messages have no latency"},
	} {
		e, err := ParseExperiment("mine.toml", []byte(test.text))
		if err == nil {
			err = e.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got error %v, want one with %q", err, test.want)
		}
	}
}

func TestASearchForKneesKeepsOneRateOfEachLoad(t *testing.T) {
	e, err := ParseExperiment("mine.toml", []byte("knee = \"p99 < 5ms\"\n"+sweepBase))
	must(t, err)
	must(t, e.Sweep("size", []int{1, 2}, "bytes"))
	must(t, e.Validate())
	must(t, e.Validate()) // validation may be repeated
	if len(e.Loads) != 2 || e.Loads[0].Shared().Name != "1000/s, 1 bytes" || e.Loads[1].Shared().Name != "1000/s, 2 bytes" || *e.AAControl {
		t.Errorf("got %d loads, the first %q, want that with a rate for each size, without an A/A control", len(e.Loads), e.Loads[0].Shared().Name)
	}
}

// TestASearchForKneesKeepsEachNumberOfConnections: a total rate has a load for each number, and the
// closed loop adds none.
func TestASearchForKneesKeepsEachNumberOfConnections(t *testing.T) {
	e, err := ParseExperiment("mine.toml", []byte("knee = \"p99 < 5ms\"\n"+sweepBase))
	must(t, err)
	e.Connections = []int{1, 8}
	must(t, e.Validate())
	p := NewPlan(e, []result.Subject{{Name: "a"}}, 1)
	if len(p.Cells) != 2 || p.Cells[0].Connections != 1 || p.Cells[1].Connections != 8 {
		t.Errorf("got the cells %+v, want one for each number of connections", p.Cells)
	}
}
