package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"weir/lab/result"
)

// loops returns a run of requests. Under the load "free" b answers twice as many as a. Under
// "sleeps" both answer exactly as many as the sleeps allow. The load "rate" is no closed loop, so
// its rates are not compared.
func loops() *result.Results {
	r := &result.Results{Version: result.Version, Experiment: "web", Subjects: []result.Subject{{Name: "a"}, {Name: "b"}},
		Plan: result.Plan{Workload: "page", Connections: []int{100}, Patterns: []string{result.Closed, "staggered"}, Margin: 0.05, WindowMS: 500,
			Loads: []result.Load{{Name: "free"}, {Name: "sleeps"}, {Name: "rate", Rate: 10}}}}
	random := rand.New(rand.NewPCG(1, 1))
	for b := range 6 {
		for _, load := range r.Plan.Loads {
			for p, name := range []string{"a", "b", "b", "a"} {
				t := result.Trial{ID: len(r.Trials) + 1, Subject: name, Load: load.Name, Connections: 100, Pattern: result.Closed, Block: b, Position: p, Accepted: true,
					CPUUSPerMessage: 10 * math.Exp(0.02*random.NormFloat64()), Messages: 990, WindowS: 2}
				switch {
				case load.Name == "rate":
					t.Pattern = "staggered"
				case load.Name == "free":
					t.Messages = int64(1e6 * math.Exp(0.02*random.NormFloat64()))
					if name == "b" {
						t.Messages *= 2
					}
				}
				r.Trials = append(r.Trials, t)
			}
		}
	}
	return r
}

// TestClosedLoopsAreComparedByRate checks also that rates without any variance can be equivalent.
func TestClosedLoopsAreComparedByRate(t *testing.T) {
	verdicts := map[string]result.Comparison{}
	for _, c := range requests.All(loops()) {
		if c.Metric == result.MetricRate && !c.AAControl {
			verdicts[c.Load] = c
		}
	}
	if c := verdicts["free"]; c.Verdict != result.Different || math.Abs(c.Ratio-0.5) > 0.05 {
		t.Errorf("without sleeps: got %+v, want a ratio of 0.5 and different", c)
	}
	if c := verdicts["sleeps"]; c.Verdict != result.Equivalent || c.Ratio != 1 {
		t.Errorf("with sleeps: got %+v, want a ratio of 1 and equivalent", c)
	}
	if c, ok := verdicts["rate"]; ok {
		t.Errorf("offered rate: got %+v, want no comparison of the rates", c)
	}
}

func TestRunsOfClosedLoopsAreComparedByRate(t *testing.T) {
	a, b := loops(), loops()
	for i := range b.Trials {
		b.Trials[i].Messages /= 2
	}
	found, err := requests.Runs(a, b, "")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range found {
		if c.Metric == result.MetricRate {
			n++
			if math.Abs(c.Ratio-2) > 0.01 {
				t.Errorf("twice the rate: got %+v, want a ratio of 2", c)
			}
		}
	}
	if n != 4 {
		t.Errorf("got %d comparisons of rates, want 4: two subjects under two loads", n)
	}
	b.Plan.Loads[1].Requests.SleepMS = 20
	for _, r := range []*result.Results{a, b} {
		for i := range r.Plan.Loads {
			r.Plan.Loads[i].Requests.Path = "/page.html"
		}
	}
	if _, err := requests.Runs(a, b, ""); err == nil {
		t.Error("loads with different sleeps: got no error, want one")
	}
}
