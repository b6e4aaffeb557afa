package compare

import (
	"strings"
	"testing"

	"weir/lab/result"
)

// stacks returns a run of two stacks in which b takes twice as long as a for each operation. Idle
// connections are not compared.
func stacks() *result.Results {
	r := &result.Results{Version: result.Version, Experiment: "stack", Subjects: []result.Subject{{Name: "a"}, {Name: "b"}},
		Plan: result.Plan{Workload: "stack", Connections: []int{1}, Patterns: []string{result.Closed, "staggered"}, Margin: 0.05, WindowMS: 500,
			Loads: []result.Load{{Name: "rr"}, {Name: "ping", Rate: 10}, {Name: "in"}, {Name: "idle"}}}}
	for block := range 5 {
		for _, l := range r.Plan.Loads {
			for p, name := range []string{"a", "b", "b", "a"} {
				slower := map[string]float64{"a": 1 + 0.001*float64(block), "b": 2}[name]
				t := result.Trial{ID: len(r.Trials) + 1, Subject: name, Load: l.Name, Connections: 1, Pattern: result.Closed, Block: block, Position: p, Accepted: true,
					CPUUSPerMessage: 10 * slower, Messages: int64(1e5 / slower), WindowS: 1, Stack: &result.OnStack{Operation: l.Name, MeanUS: 20 * slower}}
				if l.Name == "in" {
					t.Stack.MeanUS = 0
				}
				if l.Name == "ping" || l.Name == "idle" {
					t.Pattern = "staggered"
				}
				r.Trials = append(r.Trials, t)
			}
		}
	}
	return r
}

func TestStacksAreComparedByTheMetricsOfTheOperation(t *testing.T) {
	got := map[string]string{}
	for _, c := range operations.All(stacks()) {
		if c.AAControl {
			continue
		}
		got[c.Load] += c.Metric + " "
		if want := map[bool]float64{true: 2, false: 0.5}[c.Metric == result.MetricRate]; c.Verdict != result.Different || c.Ratio < 0.98*want || c.Ratio > 1.02*want {
			t.Errorf("%s under %s: got a ratio of %v, %s; want %v, different", c.Metric, c.Load, c.Ratio, c.Verdict, want)
		}
	}
	cpu, mean, rate := result.MetricCPU, result.MetricLatency, result.MetricRate
	for load, want := range map[string][]string{"rr": {cpu, mean, rate}, "ping": {cpu, mean}, "in": {cpu, rate}, "idle": nil} {
		if strings.TrimSpace(got[load]) != strings.Join(want, " ") {
			t.Errorf("%s: got the metrics %s, want %v", load, got[load], want)
		}
	}
}

func TestTwoRunsOfStacksAreComparedByTheMeanTime(t *testing.T) {
	a, b := stacks(), stacks()
	for i := range b.Trials {
		b.Trials[i].Stack.MeanUS *= 3
	}
	found, err := operations.Runs(a, b, "")
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, c := range found {
		if c.Metric == result.MetricLatency && c.Load == "rr" {
			times++
			if c.Ratio < 0.33 || c.Ratio > 0.34 {
				t.Errorf("%s: got a ratio of %v, want 1/3", c.A, c.Ratio)
			}
		}
	}
	var text strings.Builder
	if err := operations.WriteRuns(&text, "A", "B", a, b, found); err != nil || times != 2 || !strings.Contains(text.String(), "mean time, us") {
		t.Errorf("got error %v and %d comparisons, want 2 under \"mean time, us\":\n%s", err, times, &text)
	}
}
