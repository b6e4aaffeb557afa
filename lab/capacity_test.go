package lab

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/lab/agent"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/stream"
)

// TestSearchEnclosesCapacity: for any capacity and start rate, a search ends with the highest rate
// that was carried and the lowest that was not on either side of the capacity, within the stated
// precision. It never offers more than the generator accepts.
func TestSearchEnclosesCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(1000, 2e6).Draw(t, "limit")
		start := rapid.Float64Range(1, 1e5).Draw(t, "start")
		capacity := rapid.Float64Range(start/200, 4e6).Draw(t, "capacity")
		low, high, probes := 0.0, 0.0, 0
		for rate := nextProbeRate(start, low, high, limit); rate > 0; rate = nextProbeRate(start, low, high, limit) {
			if probes++; probes > 40 {
				t.Fatalf("the search did not end after %d probes: got bounds %v and %v, want an end within 40", probes, low, high)
			}
			if rate > limit {
				t.Fatalf("offered %v, want at most the generator's limit of %v", rate, limit)
			}
			if rate <= capacity {
				low = rate
			} else {
				high = rate
			}
		}
		switch {
		case capacity >= limit:
			if low != limit || high != 0 {
				t.Fatalf("got bounds %v and %v, want an end at the generator's limit of %v", low, high, limit)
			}
		case !(low <= capacity && capacity < high && high <= low*(1+bracketPrecision)):
			t.Fatalf("got bounds %v and %v, want them around the capacity of %v", low, high, capacity)
		}
	})
}

func TestSearchWithoutAnyCarriedRateEnds(t *testing.T) {
	probes, high := 0, 0.0
	for rate := nextProbeRate(8000, 0, high, 1e6); rate > 0; rate = nextProbeRate(8000, 0, high, 1e6) {
		high = rate
		probes++
	}
	if high != 8000.0/searchDepth || probes > 10 {
		t.Errorf("got an end at %v after %d probes, want at %v", high, probes, 8000.0/searchDepth)
	}
}

func TestProbesAreJudgedByTheirFigures(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*result.Trial)
		kept      bool
		generator bool
	}{
		{"a subject that echoes all in time keeps up", func(*result.Trial) {}, true, false},
		{"a subject that echoes all in time keeps up although another process used the cores", func(t *result.Trial) { t.RejectedBecause = []string{"another process took 9.0 % of a core: cc1"} }, true, false},
		{"a generator whose own sends are late is the bound", func(t *result.Trial) { t.LatenessUS.P99 = 300_000 }, false, true},
		{"a generator that sends too little is the bound", func(t *result.Trial) { t.AchievedRatio = 0.9 }, false, true},
		{"a generator that is late because connections were full is not the bound", func(t *result.Trial) {
			t.AchievedRatio, t.LatenessUS.P99, t.Behind = 0.9, 300_000, 1000
		}, false, false},
		{"full connections alone are the subject's", func(t *result.Trial) { t.Behind = 1000 }, false, false},
		{"late echoes from a subject with no CPU left are its own", func(t *result.Trial) {
			t.LatencyUS.P99, t.CPUPercentMean, t.LoadUSPerMsg = 300_000, 99, 100
		}, false, false},
		{"late echoes from an idle subject while the generator has no CPU left are the generator's", func(t *result.Trial) {
			t.LatencyUS.P99, t.LoadUSPerMsg = 300_000, 96
		}, false, true},
		{"what the generator waits for its core counts as if it used it", func(t *result.Trial) {
			t.LatencyUS.P99, t.LoadUSPerMsg, t.LoadRunQueue = 300_000, 50, 0.45
		}, false, true},
		{"late echoes with CPU left on both sides are the subject's: it may use one of several cores", func(t *result.Trial) { t.LatencyUS.P99 = 300_000 }, false, false},
		{"an echo that never came is the subject's", func(t *result.Trial) { t.FailedBecause = []string{"load error: echo missing, 12 times"} }, false, false},
		{"a subject that took nothing in the warm-up left nothing to measure", func(t *result.Trial) {
			*t = result.Trial{Pattern: load.Poisson, Connections: 64, FailedBecause: []string{"stalled in the warm-up: no message was taken for 10s"}}
		}, false, false},
		{"an echo that never came is the subject's although the hypervisor disturbed the machine", func(t *result.Trial) {
			t.RejectedBecause = []string{"hypervisor took 3.0 % of a core", "load error: echo missing, 12 times"}
		}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			trial := keptUp()
			c.change(&trial)
			p := judgeProbe(&trial, result.Load{Rate: 150}, 1)
			if p.KeptUp != c.kept || p.GeneratorBound != c.generator {
				t.Errorf("got KeptUp %v and GeneratorBound %v, want %v and %v", p.KeptUp, p.GeneratorBound, c.kept, c.generator)
			}
		})
	}
}

// keptUp returns a trial at 10,000 messages a second of 10 us in the subject and 20 us in the
// generator.
func keptUp() result.Trial {
	return result.Trial{Pattern: load.Poisson, Connections: 64, Messages: 10_000, AchievedRatio: 1, WindowS: 1, CPUPercentMean: 10, LoadUSPerMsg: 20,
		LatenessUS: result.Percentiles{P99: 300}, LatencyUS: result.Percentiles{P99: 900}}
}

// TestLoadWithWaitsIsJudgedWithoutSubjectCores: such a load reaches its limit without using the
// subject's cores, or uses them for something else.
func TestLoadWithWaitsIsJudgedWithoutSubjectCores(t *testing.T) {
	trial := keptUp()
	trial.LatencyUS.P99, trial.CPUPercentMean, trial.LoadUSPerMsg = 300_000, 99, 95
	for _, c := range []struct {
		l     result.Load
		cores int
		want  bool
	}{{result.Load{Rate: 150}, 1, false}, {result.Load{Rate: 150, WaitMS: 5}, 1, true}, {result.Load{Rate: 150}, 0, true}} {
		if p := judgeProbe(&trial, c.l, c.cores); p.KeptUp || p.GeneratorBound != c.want {
			t.Errorf("%+v on %d cores: got GeneratorBound %v, want %v", c.l, c.cores, p.GeneratorBound, c.want)
		}
	}
}

func TestLatencyLimitIncludesTheLoadsOwnDelays(t *testing.T) {
	for _, c := range []struct {
		pattern string
		l       result.Load
		want    time.Duration
	}{
		{load.Poisson, result.Load{Rate: 10}, probeLatencyLimit},
		{load.Poisson, result.Load{Rate: 10, WaitMS: 30}, probeLatencyLimit + 30*time.Millisecond},
		{load.Together, result.Load{Rate: 10}, probeLatencyLimit + 100*time.Millisecond},
	} {
		if got := latencyLimit(c.pattern, c.l); got != c.want {
			t.Errorf("%s %+v: got a limit of %v, want %v", c.pattern, c.l, got, c.want)
		}
	}
}

// TestExternalReasonsAreRecognised checks that they are recognised by the constants that start
// them.
func TestExternalReasonsAreRecognised(t *testing.T) {
	trial := keptUp()
	trial.AchievedRatio, trial.LatenessUS, trial.LoadRunQueue = 0.5, result.Percentiles{P50: 1e6, P99: 1e6}, 1
	own, all := trial, trial
	judgeTrial(sessionOf(t, "sink"), &own, workload.Evidence{Window: time.Second})
	judgeTrial(sessionOf(t, "sink"), &all, workload.Evidence{Window: time.Second, Steal: time.Second, Neighbour: time.Second, NeighbourName: "cc1", Lab: time.Second})
	got := externalReasons(all.RejectedBecause)
	if len(own.RejectedBecause) == 0 || len(got) != 3 || len(all.RejectedBecause) != len(own.RejectedBecause)+3 {
		t.Errorf("got external reasons %q of %q, want 3 in addition to the load's own %q", got, all.RejectedBecause, own.RejectedBecause)
	}
}

// TestALoadThatAnAgentSpoiledProvesNothing: the subject did not fall behind, the agent was lost.
func TestALoadThatAnAgentSpoiledProvesNothing(t *testing.T) {
	for _, kind := range []string{agent.LostAgent, agent.LateAgent, agent.WrongClock, agent.LostMessage, agent.WrongReport, agent.MissingAgents, agent.KilledLoad} {
		spoiled := result.Trial{Pattern: load.Poisson, Connections: 64}
		must(t, record(&spoiled, &agent.Disturbance{Kind: kind, Agent: "b", Reason: "does not answer"}))
		if p := judgeProbe(&spoiled, result.Load{Rate: 150}, 1); p.KeptUp || len(p.DisturbedBy) != 1 {
			t.Errorf("a probe with %s: got %+v, want it disturbed", kind, p)
		}
		if got := shareRejections(&spoiled); len(got) != 1 {
			t.Errorf("a share of capacity with %s: got reasons for rejection %q, want one", kind, got)
		}
	}
}

// TestShareIsAcceptedIfTheLoadWasAsPlanned checks that a subject that did not keep up does not
// matter.
func TestShareIsAcceptedIfTheLoadWasAsPlanned(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*result.Trial, *workload.Evidence)
		want   int
	}{
		{"a clean measurement", func(*result.Trial, *workload.Evidence) {}, 0},
		{"the subject does not keep up", func(t *result.Trial, _ *workload.Evidence) {
			t.AchievedRatio, t.Behind, t.LatenessUS.P99 = 0.9, 3000, 1e5
		}, 0},
		{"messages are sent in slots at a high rate", func(t *result.Trial, _ *workload.Evidence) { t.LatenessUS.P50 = 200 }, 0},
		{"echoes are missing", func(_ *result.Trial, ev *workload.Evidence) { ev.Errors = map[string]int64{"echo missing": 5} }, 0},
		{"the generator waited for its core and was in time", func(t *result.Trial, _ *workload.Evidence) { t.LoadRunQueue = 0.2 }, 0},
		{"the generator sent too little", func(t *result.Trial, _ *workload.Evidence) { t.AchievedRatio = 0.9 }, 1},
		{"the generator was late", func(t *result.Trial, _ *workload.Evidence) { t.LatenessUS.P99 = 1e5 }, 1},
		{"the hypervisor took a core", func(_ *result.Trial, ev *workload.Evidence) { ev.Steal = time.Second / 2 }, 1},
		{"a neighbour took a core", func(_ *result.Trial, ev *workload.Evidence) { ev.Neighbour = time.Second / 2 }, 1},
	} {
		trial, ev := keptUp(), workload.Evidence{Window: time.Second}
		c.change(&trial, &ev)
		judgeTrial(sessionOf(t, "sink"), &trial, ev)
		if got := shareRejections(&trial); len(got) != c.want {
			t.Errorf("%s: got reasons for rejection %q, want %d", c.name, got, c.want)
		}
	}
}

// TestSaturationVariantReplacesLoads checks that the variant's load replaces the experiment's.
func TestSaturationVariantReplacesLoads(t *testing.T) {
	e, err := ReadExperiment("im")
	must(t, err)
	must(t, e.Apply("saturation"))
	must(t, e.Validate())
	if len(e.Loads) != 1 || e.Loads[0].(*stream.Load).WorkUS != 10 || e.Loads[0].(*stream.Load).Size != 1000 || *e.AAControl {
		t.Errorf("got loads %+v, A/A control %v, want the variant's and none", e.Loads, *e.AAControl)
	}
}
