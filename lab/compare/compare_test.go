package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"weir/lab/result"
	"weir/lab/stat"
)

// made is a run with known costs: subjects a, b and c cost 10, 10 and 20 us a message, a twin of a runs
// along, and the noise of a trial is 2 %. Its loads, connections and patterns make four cells.
func made(seed uint64, blocks int) *result.Results {
	r := &result.Results{
		Version: result.Version, Experiment: "im", Seed: seed,
		Plan: result.Plan{
			Workload: "sink", Connections: []int{1, 64}, Patterns: []string{"staggered", "poisson"}, Blocks: blocks,
			Loads: []result.Load{{Name: "messages", Rate: 125, Size: 1000}}, Margin: 0.1, Twin: "a",
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

var costs = map[string]float64{"a": 10, "a+twin": 10, "b": 10, "c": 20}

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
			CPUUSPerMessage: costs[name] * math.Exp(0.02*random.NormFloat64()),
			CPUCV:           0.1 * math.Exp(0.5*random.NormFloat64()), LoadUSPerMsg: 7, MachineUSPerMsg: 30, CPUPercentMean: 8,
			LatenessUS: result.Percentiles{P99: 20},
		})
	}
	return trials
}

func find(t *testing.T, all []result.Comparison, a, b, metric string) result.Comparison {
	t.Helper()
	for _, c := range all {
		if c.A == a && c.B == b && c.Metric == metric {
			return c
		}
	}
	t.Fatalf("%s is not compared with %s in %s", a, b, metric)
	return result.Comparison{}
}

func TestAllFindsWhatIsThere(t *testing.T) {
	all := All(made(1, 8))
	for _, c := range []struct {
		a, b    string
		ratio   float64
		verdict string
		twin    bool
	}{
		{"a", "b", 1, stat.Equivalent, false},
		{"a", "c", 0.5, stat.Different, false},
		{"b", "c", 0.5, stat.Different, false},
		{"a", "a+twin", 1, stat.Equivalent, true},
	} {
		got := find(t, all, c.a, c.b, CPU)
		if got.Verdict != c.verdict || got.Twin != c.twin || math.Abs(got.Ratio/c.ratio-1) > 0.05 || got.Pairs != 8 {
			t.Errorf("%s / %s: got %+v, want a ratio near %v, %s, twin %v, 8 pairs", c.a, c.b, got, c.ratio, c.verdict, c.twin)
		}
		if got.Low >= got.Ratio || got.High <= got.Ratio {
			t.Errorf("%s / %s: the interval %v to %v does not hold %v", c.a, c.b, got.Low, got.High, got.Ratio)
		}
	}
}

func TestAllComparesEveryPairOnceInEachCell(t *testing.T) {
	all := All(made(2, 3))
	seen := map[string]int{}
	for _, c := range all {
		seen[fmt.Sprint(c.A, c.B, c.Metric, c.Load, c.Connections, c.Pattern)]++
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s stands %d times", key, n)
		}
	}
	if want := 4 * 2 * 4; len(all) != want { // pairs, metrics, cells
		t.Errorf("%d comparisons, want %d", len(all), want)
	}
	if all[0].Connections != 1 || all[0].Pattern != "staggered" || all[len(all)-1].Connections != 64 || all[len(all)-1].Pattern != "poisson" {
		t.Errorf("the plan's order is lost: first %+v, last %+v", all[0], all[len(all)-1])
	}
}

func TestRefusedTrialsDropTheirBlockFromTheirPairsOnly(t *testing.T) {
	r := made(3, 6)
	for i := range r.Trials {
		if r.Trials[i].Subject == "b" && r.Trials[i].Block == 2 && r.Trials[i].Position < 4 {
			r.Trials[i].Accepted = false
		}
	}
	all := All(r)
	if p := find(t, all, "a", "b", CPU).Pairs; p != 5 {
		t.Errorf("a and b share %d pairs, want the 5 of blocks without a refusal", p)
	}
	if p := find(t, all, "a", "c", CPU).Pairs; p != 6 {
		t.Errorf("a and c share %d pairs, want all 6", p)
	}
}

func TestARepeatedTrialTakesTheRefusedOnesPlace(t *testing.T) {
	r := made(4, 4)
	first := r.Trials[0]
	r.Trials[0].Accepted = false
	first.Attempt = 2
	r.Trials = append(r.Trials, first)
	for _, c := range All(r) {
		if c.Pairs != 4 {
			t.Fatalf("%+v: want 4 pairs", c)
		}
	}
}

func TestWhatIsNotCompared(t *testing.T) {
	r := made(5, 3)
	r.Subjects = append(r.Subjects, result.Subject{Name: "never ran"})
	r.Subjects[2].Elsewhere = true // c
	for _, c := range All(r) {
		if c.A == "c" || c.B == "c" || c.A == "never ran" || c.B == "never ran" {
			t.Errorf("compared: %+v", c)
		}
		if isTwin(c.A) || isTwin(c.B) && !c.Twin {
			t.Errorf("the twin stands as a subject of its own: %+v", c)
		}
	}
	if all := All(&result.Results{}); len(all) != 0 {
		t.Errorf("an empty run has comparisons: %+v", all)
	}
}

func TestAnUnfinishedRunSaysSo(t *testing.T) {
	r := made(6, 1)
	c := find(t, All(r), "a", "c", CPU)
	if c.Verdict != stat.Undecided || c.Low != 0 || c.High != 0 || c.P != 1 || c.Warning == "" {
		t.Errorf("one block: got %+v, want no interval, undecided and a warning", c)
	}
}

func TestOrderSharesPlacesWhereNothingDiffers(t *testing.T) {
	ranks := Order(made(7, 8), "messages", 64, "poisson")
	if len(ranks) != 3 {
		t.Fatalf("%d ranks, want 3 (the twin has none): %+v", len(ranks), ranks)
	}
	if ranks[0].Place != 1 || ranks[1].Place != 1 || ranks[2].Place != 3 || ranks[2].Subject != "c" {
		t.Errorf("got %+v, want a and b to share place 1 and c to be third", ranks)
	}
	if math.Abs(ranks[2].CPU/20-1) > 0.05 {
		t.Errorf("c costs %v, want about 20", ranks[2].CPU)
	}
	if got := Order(made(7, 8), "no such load", 64, "poisson"); len(got) != 0 {
		t.Errorf("a cell without trials has ranks: %+v", got)
	}
}
