package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/lab/result"
	"weir/lab/stat"
)

// makeResults returns a run with known costs: subjects a, b and c cost 10, 10 and 20 us per
// message, with an A/A control of a. The noise of a trial is 2 %. There are four cells, each with a
// number of blocks of eight trials. seed is for the noise and the order.
func makeResults(seed uint64, blocks int) *result.Results {
	r := &result.Results{
		Version: result.Version, Experiment: "im", Seed: seed,
		Plan: result.Plan{
			Workload: "sink", Connections: []int{1, 64}, Patterns: []string{"staggered", "poisson"}, Blocks: blocks,
			Loads: []result.Load{{Name: "messages", Rate: 125, Size: 1000}}, Margin: 0.1, AAControl: "a", WindowMS: 500,
		},
		Subjects: []result.Subject{{Name: "a"}, {Name: "b"}, {Name: "c"}},
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for b := range blocks {
		for _, connections := range r.Plan.Connections {
			for _, pattern := range r.Plan.Patterns {
				r.Trials = append(r.Trials, block(random, len(r.Trials), b, connections, pattern)...)
			}
		}
	}
	return r
}

var trueCosts = map[string]float64{"a": 10, "a+twin": 10, "b": 10, "c": 20}

func block(random *rand.Rand, first, number, connections int, pattern string) []result.Trial {
	names := []string{"a", "a+twin", "b", "c"}
	random.Shuffle(len(names), reflect.Swapper(names))
	mirror := slices.Clone(names)
	slices.Reverse(mirror)
	var trials []result.Trial
	for p, name := range append(names, mirror...) {
		trials = append(trials, result.Trial{
			ID: first + p + 1, Subject: name, Load: "messages", Connections: connections, Pattern: pattern,
			Block: number, Position: p, Attempt: 1, Accepted: true, Messages: 12000,
			CPUUSPerMessage: trueCosts[name] * math.Exp(0.02*random.NormFloat64()),
			CPUCV:           0.1 * math.Exp(0.5*random.NormFloat64()), LoadUSPerMsg: 7, MachineUSPerMsg: 30, CPUPercentMean: 8,
			LatenessUS: result.Percentiles{P99: 20}, Samples: samples(random, 0.1),
		})
	}
	return trials
}

// samples returns three windows of 500 ms with a coefficient of variation of cv, sampled every 50
// ms.
func samples(random *rand.Rand, cv float64) []result.Sample {
	all := []result.Sample{{}}
	for range 3 {
		step := 4e6 * (1 + cv*random.NormFloat64())
		for range 10 {
			last := all[len(all)-1]
			all = append(all, result.Sample{AtMS: last.AtMS + 50, CPUNS: last.CPUNS + int64(step)})
		}
	}
	return all
}

func find(t *testing.T, all []result.Comparison, a, b, metric string) result.Comparison {
	t.Helper()
	for _, c := range all {
		if c.A == a && c.B == b && c.Metric == metric {
			return c
		}
	}
	t.Fatalf("got no comparison of %s with %s in %s, want one", a, b, metric)
	return result.Comparison{}
}

func TestAllFindsTheTrueRatios(t *testing.T) {
	all := messages.All(makeResults(1, 8))
	for _, c := range []struct {
		a, b    string
		ratio   float64
		verdict string
		control bool
	}{
		{"a", "b", 1, result.Equivalent, false},
		{"a", "c", 0.5, result.Different, false},
		{"b", "c", 0.5, result.Different, false},
		{"a", "a+twin", 1, result.Equivalent, true},
	} {
		got := find(t, all, c.a, c.b, result.MetricCPU)
		if got.Verdict != c.verdict || got.AAControl != c.control || math.Abs(got.Ratio/c.ratio-1) > 0.05 || got.Pairs != 8 {
			t.Errorf("%s / %s: got %+v, want a ratio near %v, %s, A/A control %v, 8 pairs", c.a, c.b, got, c.ratio, c.verdict, c.control)
		}
		if got.Low >= got.Ratio || got.High <= got.Ratio {
			t.Errorf("%s / %s: got the interval %v to %v, want one that contains %v", c.a, c.b, got.Low, got.High, got.Ratio)
		}
	}
}

func TestAllComparesEveryPairOnceInEachCell(t *testing.T) {
	all := messages.All(makeResults(2, 3))
	seen := map[string]int{}
	for _, c := range all {
		seen[fmt.Sprint(c.A, c.B, c.Metric, c.Load, c.Connections, c.Pattern)]++
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s: got %d comparisons, want 1", key, n)
		}
	}
	if want := 4 * 2 * 4; len(all) != want { // pairs, metrics, cells
		t.Errorf("got %d comparisons, want %d", len(all), want)
	}
	if all[0].Connections != 1 || all[0].Pattern != "staggered" || all[len(all)-1].Connections != 64 || all[len(all)-1].Pattern != "poisson" {
		t.Errorf("got first %+v and last %+v, want the plan's order", all[0], all[len(all)-1])
	}
}

func TestRejectedTrialsDropTheirBlockFromTheirPairsOnly(t *testing.T) {
	r := makeResults(3, 6)
	for i := range r.Trials {
		if r.Trials[i].Subject == "b" && r.Trials[i].Block == 2 && r.Trials[i].Position < 4 {
			r.Trials[i].Accepted = false
		}
	}
	all := messages.All(r)
	if p := find(t, all, "a", "b", result.MetricCPU).Pairs; p != 5 {
		t.Errorf("a and b: got %d pairs, want the 5 of blocks without a rejection", p)
	}
	if p := find(t, all, "a", "c", result.MetricCPU).Pairs; p != 6 {
		t.Errorf("a and c: got %d pairs, want 6", p)
	}
}

func TestARepeatedTrialReplacesTheRejectedOne(t *testing.T) {
	r := makeResults(4, 4)
	first := r.Trials[0]
	r.Trials[0].Accepted = false
	first.Attempt = 2
	r.Trials = append(r.Trials, first)
	for _, c := range messages.All(r) {
		if c.Pairs != 4 {
			t.Fatalf("got %+v, want 4 pairs", c)
		}
	}
}

func TestSubjectsWithoutMeasuredCPUAreNotCompared(t *testing.T) {
	r := makeResults(5, 3)
	r.Subjects = append(r.Subjects, result.Subject{Name: "never ran"})
	r.Subjects[2].Elsewhere = true // c
	for _, c := range messages.All(r) {
		if c.A == "c" || c.B == "c" || c.A == "never ran" || c.B == "never ran" {
			t.Errorf("got %+v, want no comparison with c and never ran", c)
		}
		if isControl(c.A) || isControl(c.B) && !c.AAControl {
			t.Errorf("got %+v, want the A/A control only with its original", c)
		}
	}
	if all := messages.All(&result.Results{}); len(all) != 0 {
		t.Errorf("empty run: got comparisons %+v, want none", all)
	}
}

func TestARunOfOneBlockIsUndecided(t *testing.T) {
	r := makeResults(6, 1)
	c := find(t, messages.All(r), "a", "c", result.MetricCPU)
	if c.Verdict != result.Undecided || c.Low != 0 || c.High != 0 || c.P != 1 || c.Warning == "" {
		t.Errorf("one block: got %+v, want no interval, undecided and a warning", c)
	}
}

// TestTheWholeRunIsOneFamily checks that p is corrected over all cells of a metric.
func TestTheWholeRunIsOneFamily(t *testing.T) {
	r := makeResults(8, 4)
	family := 4 * 4 // pairs and cells
	smallest := 1.0
	for _, c := range messages.All(r) {
		if c.Metric == result.MetricCPU {
			smallest = min(smallest, c.P)
		}
	}
	alone := 1.0
	for _, c := range cells(r) {
		trials := c.trials(r)
		for _, p := range pairs(subjects(r)) {
			if len(trials[p.a]) > 0 && len(trials[p.b]) > 0 {
				alone = min(alone, stat.PairedRatio(costs(trials[p.a]), costs(trials[p.b])).P)
			}
		}
	}
	if math.Abs(smallest/(float64(family)*alone)-1) > 1e-9 {
		t.Errorf("got a smallest p of %v, want the uncorrected %v times the run's %d comparisons", smallest, alone, family)
	}
}

func TestVariationIsPooledOverTheTrials(t *testing.T) {
	r := makeResults(9, 6)
	random := rand.New(rand.NewPCG(9, 2))
	for i := range r.Trials {
		if r.Trials[i].Subject == "c" {
			r.Trials[i].Samples = samples(random, 0.02)
		}
	}
	if c := find(t, messages.All(r), "a", "c", result.MetricCV); c.Verdict != result.Different || c.Low > 5 || c.High < 5 {
		t.Errorf("got %+v, want a to vary five times as much as c", c)
	}
	if c := find(t, messages.All(r), "a", "b", result.MetricCV); c.Verdict == result.Different || c.Pairs != 6 {
		t.Errorf("got %+v, want a and b not to be different", c)
	}
	r.Plan.WindowMS = 1000 // one whole window a trial
	for _, c := range messages.All(r) {
		short := strings.HasPrefix(c.Warning, stat.TooShort)
		if short != (c.Metric == result.MetricCV) || short && (c.Verdict != result.Undecided || c.P != 1 || c.High != 0) {
			t.Fatalf("one window per trial: got %+v, want the variation too short to tell", c)
		}
	}
}

func TestOrderSharesPlacesWithoutASignificantDifference(t *testing.T) {
	ranks := messages.Order(makeResults(7, 8), "messages", 64, "poisson")
	if len(ranks) != 3 {
		t.Fatalf("got %d ranks, want 3 (none for the A/A control): %+v", len(ranks), ranks)
	}
	if ranks[0].Place != 1 || ranks[1].Place != 1 || ranks[2].Place != 3 || ranks[2].Subject != "c" {
		t.Errorf("got %+v, want a and b to share place 1 and c to be third", ranks)
	}
	if math.Abs(ranks[2].CPU/20-1) > 0.05 {
		t.Errorf("got a CPU of %v for c, want about 20", ranks[2].CPU)
	}
	if got := messages.Order(makeResults(7, 8), "no such load", 64, "poisson"); len(got) != 0 {
		t.Errorf("cell without trials: got ranks %+v, want none", got)
	}
}
