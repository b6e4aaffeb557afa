package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"weir/lab/result"
)

// scaled multiplies the CPU of the trials of one subject, or of all when name is empty.
func scaled(r *result.Results, name string, factor float64) *result.Results {
	for i := range r.Trials {
		if name == "" || r.Trials[i].Subject == name {
			r.Trials[i].CPUUSPerMessage *= factor
		}
	}
	return r
}

func TestRunsFindWhatChanged(t *testing.T) {
	all, err := messages.Runs(scaled(makeResults(1, 8), "b", 1.3), makeResults(2, 8), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, metric string
		ratio        float64
		verdict      string
	}{
		{"a", result.MetricCPU, 1, result.Equivalent},
		{"b", result.MetricCPU, 1.3, result.Different},
		{"b", result.MetricCPU + "/a", 1.3, result.Different},
		{"c", result.MetricCPU + "/a", 1, result.Equivalent},
	} {
		got := find(t, all, c.name, c.name, c.metric)
		if got.Verdict != c.verdict || math.Abs(got.Ratio/c.ratio-1) > 0.05 || got.Pairs != 8 || got.AAControl {
			t.Errorf("%s, %s: got %+v, want %s near %v", c.name, c.metric, got, c.verdict, c.ratio)
		}
	}
}

func TestAFasterMachineIsNotAFasterSubject(t *testing.T) {
	all, err := messages.Runs(scaled(makeResults(1, 8), "", 0.6), makeResults(2, 8), "")
	if err != nil {
		t.Fatal(err)
	}
	if c := find(t, all, "b", "b", result.MetricCPU); c.Verdict != result.Different || !strings.Contains(c.Warning, "not interleaved") {
		t.Errorf("got %+v, want the change of the machine in the plain ratio, and the warning", c)
	}
	if c := find(t, all, "b", "b", result.MetricCPU+"/a"); c.Verdict != result.Equivalent || strings.Contains(c.Warning, "not interleaved") {
		t.Errorf("got %+v, want the relative ratio without the change of the machine, and no warning", c)
	}
}

func TestEveryPlainComparisonOfRunsHasAWarning(t *testing.T) {
	a, b := makeResults(1, 3), makeResults(2, 3)
	b.Machine.Kernel = "another"
	all, err := messages.Runs(a, b, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		plain := c.Metric == result.MetricCPU || c.Metric == result.MetricCV
		if plain != strings.Contains(c.Warning, "not interleaved") || plain != strings.Contains(c.Warning, "difference in machine") {
			t.Errorf("%s of %s: got warning %q, want one only on plain comparisons", c.Metric, c.A, c.Warning)
		}
		if isControl(c.A) || isControl(c.B) {
			t.Errorf("got %+v, want no comparison of an A/A control", c)
		}
	}
	// cells; three subjects, two relative to the third, three variations
	if want := 4 * (3 + 2 + 3); len(all) != want {
		t.Errorf("got %d comparisons, want %d", len(all), want)
	}
}

func TestTheReferenceIsTheFloorOrTheGivenSubject(t *testing.T) {
	withFloor := func(seed uint64) *result.Results {
		r := makeResults(seed, 3)
		r.Subjects[2].Paradigm = "floor" // c
		return r
	}
	all, err := messages.Runs(withFloor(1), withFloor(2), "")
	if err != nil {
		t.Fatal(err)
	}
	find(t, all, "a", "a", result.MetricCPU+"/c")
	all, err = messages.Runs(withFloor(1), withFloor(2), "b")
	if err != nil {
		t.Fatal(err)
	}
	find(t, all, "a", "a", result.MetricCPU+"/b")
}

func TestOnlyCommonSubjectsAndCellsAreCompared(t *testing.T) {
	a, b := makeResults(1, 3), makeResults(2, 3)
	b.Subjects = b.Subjects[:2]
	b.Trials = slices.DeleteFunc(b.Trials, func(t result.Trial) bool { return t.Subject == "c" || t.Connections == 1 })
	all, err := messages.Runs(a, b, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.A == "c" || c.Connections == 1 {
			t.Errorf("got %+v, want only what both runs have", c)
		}
	}
}

func TestRunsThatCannotBeCompared(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(b *result.Results)
		want  string
	}{
		{"no subject in common", func(b *result.Results) {
			b.Subjects = nil
			for i := range b.Trials {
				b.Trials[i].Subject = "other"
			}
		}, "no subject in common: A has a, b, c, B has other"},
		{"no load in common", func(b *result.Results) {
			for i := range b.Trials {
				b.Trials[i].Connections = 8
			}
		}, "no load in common: A has messages on 1 connection, staggered, "},
		{"no trials", func(b *result.Results) { b.Trials = nil }, "no load in common"},
		{"all trials rejected", func(b *result.Results) {
			for i := range b.Trials {
				b.Trials[i].Accepted = false
			}
		}, "no subject has accepted trials under the same load in both runs"},
		{"another rate", func(b *result.Results) { b.Plan.Loads = []result.Load{{Name: "messages", Rate: 250, Size: 1000}} },
			`the load "messages" was 125 messages/s of 1000 bytes in A and 250 messages/s of 1000 bytes in B`},
		{"another workload", func(b *result.Results) { b.Plan.Workload = "echo" }, "the workload was sink in A and echo in B"},
	} {
		b := makeResults(2, 3)
		c.spoil(b)
		if _, err := messages.Runs(makeResults(1, 3), b, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := messages.Runs(makeResults(1, 3), makeResults(2, 3), "unknown"); err == nil || !strings.Contains(err.Error(), `"unknown" is not in both runs: choose among a, b, c`) {
		t.Errorf("unknown reference: got error %v, want one that lists the subjects", err)
	}
}
