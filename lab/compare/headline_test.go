package compare

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"weir/internal/testsize"
	"weir/lab/result"
)

// withHeadline adds a headline of a and c to a run, and blocks of its own with these ratios.
func withHeadline(r *result.Results, planned int, ratios ...float64) *result.Results {
	r.Headline = &result.Headline{A: "a", B: "c", Metric: result.MetricCPU, Load: "messages", Connections: 64, Pattern: "poisson", PlannedBlocks: planned}
	var own []result.Trial
	random := rand.New(rand.NewPCG(1, 1))
	for i, ratio := range ratios {
		for p, name := range []string{"a", "c", "a+twin", "a+twin", "c", "a"} {
			cost := 10.0
			if name == "c" {
				cost /= ratio
			}
			own = append(own, result.Trial{Subject: name, Load: "messages", Connections: 64, Pattern: "poisson", Block: result.FirstHeadlineBlock + i, Position: p, Accepted: true,
				CPUUSPerMessage: cost * math.Exp(0.005*random.NormFloat64())})
		}
	}
	r.Trials = append(own, r.Trials...)
	return r
}

func TestHeadlineIsTestedInItsOwnBlocks(t *testing.T) {
	r := withHeadline(makeResults(1, 3), 5, 0.7, 0.8, 0.6, 0.7)
	h := messages.Headline(r)
	if h.Verdict != result.Different || h.Blocks != 4 || h.Looks != 2 || math.Abs(h.Ratio-0.7) > 0.02 || h.High >= 1 || h.P >= 0.05 || h.ControlHigh == 0 {
		t.Errorf("got %+v, want a different ratio of 0.7 at the second look, after 4 blocks, with the A/A control", h)
	}
	all := messages.All(r)
	first := all[0]
	if first.A != "a" || first.B != "c" || first.Verdict != h.Verdict || first.VerdictHigh != h.High || first.Ratio != h.Ratio || first.Pairs != 4 || first.P != h.P {
		t.Errorf("got the first comparison %+v, want the headline %+v", first, h)
	}
	for _, c := range all[1:] {
		if c.Metric == h.Metric && c.Connections == 64 && c.Pattern == "poisson" && (c.A == "a" && c.B == "c" || c.Pairs != 3) {
			t.Errorf("got %+v, want the headline once, and the others in the 3 shared blocks", c)
		}
	}
}

func TestHeadlineWithoutBlocksOfItsOwnIsTestedOnce(t *testing.T) {
	r := withHeadline(makeResults(1, 8), 0)
	if h := messages.Headline(r); h.Verdict != result.Different || h.Looks != 1 || h.Blocks != 8 || math.Abs(h.Ratio-0.5) > 0.05 {
		t.Errorf("got %+v, want a different ratio of 0.5 in the 8 shared blocks", h)
	}
}

func TestHeadlineWithoutTrialsIsUndecided(t *testing.T) {
	for _, planned := range []int{0, 5, 1, -1, 1e9} {
		r := withHeadline(&result.Results{}, planned)
		if h := messages.Headline(r); h.Verdict != result.Undecided || h.Blocks != 0 || h.Tested() || h.P != 1 || h.High != 0 {
			t.Errorf("%d blocks planned: got %+v, want it undecided without an interval", planned, h)
		}
		if all := messages.All(r); len(all) != 0 {
			t.Errorf("%d blocks planned: got the comparisons %+v, want none", planned, all)
		}
	}
}

// TestLastLookSpendsTheRestOfTheError has two blocks with trials that were rejected: of the five
// planned ones three are left, whose last look is that of the whole error.
func TestLastLookSpendsTheRestOfTheError(t *testing.T) {
	ratios := []float64{0.7, 0.9, 0.8}
	before := messages.Headline(withHeadline(&result.Results{}, 5, ratios...))
	after := messages.Headline(withHeadline(makeResults(1, 1), 5, ratios...))
	if before.Verdict != result.Undecided || after.High >= before.High || after.Low <= before.Low || after.Looks != 1 {
		t.Errorf("got %+v while its blocks go on, and %+v once others have followed, want a narrower interval then", before, after)
	}
}

// TestOthersHaveTheLevelThatTheHeadlineLeaves compares the same blocks beside a headline that is
// different, one that is undecided, and none.
func TestOthersHaveTheLevelThatTheHeadlineLeaves(t *testing.T) {
	p := func(r *result.Results) float64 {
		return find(t, messages.All(r), "b", "c", result.MetricCPU).P
	}
	opened := p(withHeadline(makeResults(1, 3), 3, 0.7, 0.71, 0.69))
	closed := p(withHeadline(makeResults(1, 3), 3, 0.7, 1.5, 0.9))
	if ratio := closed / opened; math.Abs(ratio-5) > 1e-9 {
		t.Errorf("got p %v beside a different headline and %v beside an undecided one, want five times as much", opened, closed)
	}
	variation := func(r *result.Results) float64 {
		return find(t, messages.All(r), "b", "c", result.MetricCV).P
	}
	if with, without := variation(withHeadline(makeResults(1, 3), 3, 0.7, 1.5, 0.9)), variation(makeResults(1, 3)); with != without {
		t.Errorf("got p %v of the variation beside an undecided headline, want %v as without one: it is another family", with, without)
	}
}

// recordedTrials returns the logarithms of one server's recorded trials in their order.
func recordedTrials(t *testing.T) (logs []float64) {
	t.Helper()
	const file = "../stat/testdata/drift.txt"
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := benchfmt.NewReader(f, file); r.Scan(); {
		if rec, ok := r.Result().(*benchfmt.Result); ok && strings.Contains(rec.Name.String(), "pattern=staggered") {
			v, _ := rec.Value("us/msg")
			logs = append(logs, math.Log(v))
		}
	}
	return logs
}

// quickRun simulates runs of four subjects in three cells with a time limit, in which 160 trials
// fit: so there are shared blocks for the other comparisons too.
type quickRun struct {
	random *rand.Rand
	noise  []float64          // logarithms of recorded trials
	costs  map[string]float64 // by subject
}

const quickTrials, quickPlanned = 160, 6

var quickPatterns = []string{"staggered", "together", "poisson"}

// block adds a palindromic block from a random section of the noise.
func (q quickRun) block(r *result.Results, pattern string, number int, names ...string) {
	q.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	at := q.random.IntN(len(q.noise) - 2*len(names) + 1)
	for p := range 2 * len(names) {
		name := names[min(p, 2*len(names)-1-p)]
		cost := q.costs[strings.TrimSuffix(name, result.ControlSuffix)]
		r.Trials = append(r.Trials, result.Trial{Subject: name, Load: "messages", Connections: 64, Pattern: pattern, Block: number, Position: p, Accepted: true, CPUUSPerMessage: cost * math.Exp(q.noise[at+p])})
	}
}

// run returns a run whose headline is a / b: first blocks of its own until it is decided or they
// are used up, then as many rounds of all as fit.
func (q quickRun) run(k Kind) *result.Results {
	r := &result.Results{Subjects: []result.Subject{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}, Plan: result.Plan{Patterns: quickPatterns, Margin: 0.05, AAControl: "a", WindowMS: 500},
		Headline: &result.Headline{A: "a", B: "b", Metric: result.MetricCPU, Load: "messages", Connections: 64, Pattern: "staggered", PlannedBlocks: quickPlanned}}
	for number := 0; number < quickPlanned && k.Headline(r).Verdict == result.Undecided; number++ {
		q.block(r, "staggered", result.FirstHeadlineBlock+number, "a", "b", "a+twin")
	}
	for round := 0; round == 0 || len(r.Trials)+30 <= quickTrials; round++ {
		for _, pattern := range quickPatterns {
			q.block(r, pattern, round, "a", "b", "c", "d", "a+twin")
		}
	}
	return r
}

// TestAtMostOneRunInTwentyHasAFalseDifference simulates whole runs: the headline with its looks,
// and the other comparisons after it.
func TestAtMostOneRunInTwentyHasAFalseDifference(t *testing.T) {
	runs := testsize.Of(t, "WEIR_HEADLINE_SIMULATIONS", 15)
	k := Kind{Metrics: func(*result.Trial) []string { return []string{result.MetricCPU} }}
	for name, costs := range map[string]map[string]float64{
		"all are equal":                {"a": 1, "b": 1, "c": 1, "d": 1},
		"the headline differs by 1.3":  {"a": 1.3, "b": 1, "c": 1, "d": 1},
		"only the headline is equal":   {"a": 1, "b": 1, "c": 1.3, "d": 1.7},
		"the headline differs by 1.03": {"a": 1.03, "b": 1, "c": 1, "d": 1},
	} {
		q := quickRun{rand.New(rand.NewPCG(16, 1)), recordedTrials(t), costs}
		wrong, decided, found := 0, 0, 0
		for range runs {
			r := q.run(k)
			all := k.All(r)
			if slices.ContainsFunc(all, func(c result.Comparison) bool { return q.wrong(c) }) {
				wrong++
			}
			if all[0].Verdict != result.Undecided {
				decided++
			}
			for _, c := range all[1:] {
				if c.Verdict == result.Different {
					found++
				}
			}
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(runs) }
		t.Logf("%s, %d runs: %.1f %% have a false verdict, %.1f %% decide the headline, %.1f others are different", name, runs, share(wrong), share(decided), float64(found)/float64(runs))
		if limit := 0.05 * float64(runs); float64(wrong) > limit+3*math.Sqrt(0.95*limit) {
			t.Errorf("%s: got a false verdict in %d of %d runs, want at most 5 %%", name, wrong, runs)
		}
		if costs["a"] == 1.3 && share(decided) < 90 {
			t.Errorf("%s: got a decided headline in %.1f %%, want 90 %%", name, share(decided))
		}
	}
}

// wrong reports whether a verdict is false: a difference that is none, or that has the other
// direction.
func (q quickRun) wrong(c result.Comparison) bool {
	a, b := q.costs[strings.TrimSuffix(c.A, result.ControlSuffix)], q.costs[strings.TrimSuffix(c.B, result.ControlSuffix)]
	return c.Verdict == result.Different && (a == b || (a > b) != (c.Ratio > 1))
}
