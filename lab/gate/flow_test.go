package gate

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/lab/result"
	"weir/lab/stat/sequential"
)

// A measurer makes up the figures of a block by its number.
type measurer func(n int) block

// costs returns a measurer of CPU per message in which HEAD costs ratio times what BASE costs. The
// A/A control costs again times as much. Blocks alternate by the spread.
func costs(ratio, again, spread float64) measurer {
	return func(n int) block {
		noise := math.Exp(spread * float64(1-2*(n%2)))
		return block{
			base: figures{MetricCPU: 10, MetricMemory: 5000}, head: figures{MetricCPU: 10 * ratio * noise, MetricMemory: 5000 * noise},
			control: figures{MetricCPU: again * noise},
		}
	}
}

// config returns a gate for flows, which measures nothing.
func config(metrics ...string) *Config {
	if len(metrics) == 0 {
		metrics = []string{MetricCPU}
	}
	return &Config{Metrics: metrics, Margin: DefaultMargin, Confidence: DefaultConfidence, Budget: DefaultBudget}
}

// decide runs a flow whose blocks take 7.5 s each.
func decide(t *testing.T, f *flow, m measurer) (verdict, reason string) {
	t.Helper()
	for n := 0; n < sequential.MaxBlocks; n++ {
		if f.add(m(n), time.Duration(n+1)*7500*time.Millisecond) {
			break
		}
	}
	if f.err != nil {
		t.Fatalf("the flow failed: %v", f.err)
	}
	var all []Judgement
	for _, track := range f.tracks {
		if len(track.head) > 0 {
			all = append(all, track.judgement())
		}
	}
	return verdictOf(all, f)
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name    string
		blocks  measurer
		metrics []string
		want    string
		reason  string // a part of it
	}{
		{"equal", costs(1, 1, 0.01), nil, NoWorse, ""},
		{"less than the margin", costs(1.005, 1, 0.01), nil, NoWorse, ""},
		{"cheaper", costs(0.5, 1, 0.01), nil, NoWorse, ""},
		{"twice the margin", costs(1.05, 1, 0.01), nil, Worse, ""},
		{"three times the cost", costs(3, 1, 0.2), nil, Worse, ""},
		{"too noisy", costs(1, 1, 0.5), nil, Undecided, "more than one answer"},
		{"the A/A control differs", costs(3, 1.5, 0.01), nil, Undecided, "A/A control differs"},
		{"the A/A control is cheaper", costs(1, 0.5, 0.01), nil, Undecided, "A/A control differs"},
		{"one of two metrics is worse", costs(1.2, 1, 0.01), []string{MetricMemory, MetricCPU}, Worse, ""},
		{"none of two metrics is worse", costs(1, 1, 0.01), []string{MetricMemory, MetricCPU}, NoWorse, ""},
		{"a metric that is not judged is worse", costs(1.2, 1, 0.01), []string{MetricMemory}, NoWorse, ""},
	} {
		f := newFlow(config(c.metrics...), DefaultBudget, sequential.MaxBlocks)
		if got, reason := decide(t, f, c.blocks); got != c.want || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: got %s (%s) after %d of %d blocks, want %s (%s)", c.name, got, reason, f.blocks, f.planned, c.want, c.reason)
		}
	}
}

func TestBlocksArePlannedFromTheFirst(t *testing.T) {
	for _, c := range []struct {
		took, budget time.Duration
		most, want   int
	}{
		{7 * time.Second, 5 * time.Minute, sequential.MaxBlocks, 41},
		{time.Millisecond, 5 * time.Minute, sequential.MaxBlocks, sequential.MaxBlocks},
		{7 * time.Second, 5 * time.Minute, 30, 30}, // a baseline has so many
		{30 * time.Second, 5 * time.Minute, sequential.MaxBlocks, 9},
	} {
		f := newFlow(config(), c.budget, c.most)
		if f.add(costs(1, 1, 0.1)(0), c.took) || f.planned != c.want {
			t.Errorf("a block of %v in %v: got %d planned (%v), want %d", c.took, c.budget, f.planned, f.err, c.want)
		}
	}
}

// TestAVoidBlockIsNoneOfThePlan: its time is over, and says nothing about that of the others.
func TestAVoidBlockIsNoneOfThePlan(t *testing.T) {
	f := newFlow(config(), 5*time.Minute, sequential.MaxBlocks)
	f.add(block{failed: map[string]string{headName: "a wrong status"}}, 20*time.Second)
	if f.add(costs(1, 1, 0.1)(0), 27*time.Second); f.planned != 38 {
		t.Errorf("a void block of 20 s and one of 7 s in 5 min: got %d planned (%v), want 38, for 271 s", f.planned, f.err)
	}
}

// TestTimeThatEndsEarlyIsUsed: the last look has the error that is left.
func TestTimeThatEndsEarlyIsUsed(t *testing.T) {
	f := newFlow(config(), DefaultBudget, sequential.MaxBlocks)
	for n := range 6 {
		f.add(costs(1, 1, 0.01)(n), time.Duration(n+1)*7500*time.Millisecond)
	}
	cpu := f.tracks[slices.IndexFunc(f.tracks, func(t *track) bool { return t.judged })]
	if cpu.last.Verdict != sequential.Undecided {
		t.Fatalf("after 6 of %d blocks: got %v, want it undecided", f.planned, cpu.last)
	}
	f.close()
	if cpu.last.Verdict != sequential.NoWorse || cpu.last.Blocks != 6 {
		t.Errorf("after the end: got %+v, want no worse in 6 blocks", cpu.last)
	}
}

// TestTheMeansAreThoseOfTheInterval: blocks after the verdict are in neither.
func TestTheMeansAreThoseOfTheInterval(t *testing.T) {
	f := newFlow(config(MetricCPU, MetricMemory), DefaultBudget, sequential.MaxBlocks)
	for n := range 30 {
		b := costs(2, 1, 0.01)(n)
		if n >= 20 {
			b.head[MetricCPU] *= 10
		}
		b.head[MetricMemory] *= math.Exp(math.Sin(float64(7 * n))) // no verdict
		f.add(b, time.Duration(n+1)*7500*time.Millisecond)
	}
	for _, track := range f.tracks {
		if j := track.judgement(); j.Name == MetricCPU && math.Abs(j.Head/j.Base-j.Ratio) > 1e-9 {
			t.Errorf("got %v and %v with the ratio %v, want their quotient", j.Base, j.Head, j.Ratio)
		}
	}
}

func TestTheBudgetMustTakeThreeBlocks(t *testing.T) {
	f := newFlow(config(), 20*time.Second, sequential.MaxBlocks)
	if stop := f.add(costs(1, 1, 0.1)(0), 7*time.Second); !stop || f.err == nil || !strings.Contains(f.err.Error(), "give more time") {
		t.Errorf("a block of 7 s in 20 s: got stop %v and the error %v, want an error that says what to do", stop, f.err)
	}
}

// TestFailedTrials voids the blocks of two failures, and stops at the third.
func TestFailedTrials(t *testing.T) {
	f := newFlow(config(), DefaultBudget, sequential.MaxBlocks)
	b := costs(1, 1, 0.1)(0)
	b.failed = map[string]string{headName: "wrong echo"}
	for n := 1; n <= maxFailures; n++ {
		stop := f.add(b, time.Second)
		if want := n == maxFailures; stop != want || (f.err != nil) != want || f.blocks != 0 {
			t.Fatalf("failure %d: got stop %v, error %v, %d blocks, want a stop and an error at %d, and no block", n, stop, f.err, f.blocks, maxFailures)
		}
	}
	if !strings.Contains(f.err.Error(), "head failed") || !strings.Contains(f.err.Error(), "wrong echo") {
		t.Errorf("got the error %v, want the version and the reason", f.err)
	}
}

// trial returns a trial of a subject with the given CPU per message and rate.
func trial(subject string, cpu, messages float64) result.Trial {
	return result.Trial{Subject: subject, CPUUSPerMessage: cpu, Messages: int64(messages), WindowS: 1, Pattern: result.Closed}
}

func TestFiguresOfABlock(t *testing.T) {
	trials := []result.Trial{
		trial("base", 10, 100), trial("head", 20, 50), trial("base-again", 10, 100), trial("head-again", 80, 50),
		trial("head-again", 80, 50), trial("base-again", 40, 100), trial("head", 20, 50), trial("base", 40, 100),
	}
	b := blockOf(trials, nil)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"CPU of base", b.base[MetricCPU], 20}, {"CPU of head", b.head[MetricCPU], 40}, {"the A/A control", b.control[MetricCPU], 1},
		{"the first part of the A/A control", b.first, 20}, {"its second part", b.again, 20},
		{"throughput of base", b.base[MetricThroughput], 100}, {"throughput of head", b.head[MetricThroughput], 50},
		{"the cost of throughput", metricNamed(MetricThroughput).cost(b.base[MetricThroughput], b.head[MetricThroughput]), 2},
		{"median latency, which the load does not have", b.head[MetricP50], 0},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
	if b := blockOf(trials[1:], nil); b.base[MetricCPU] != 0 || b.head[MetricCPU] == 0 {
		t.Errorf("a block without a trial of base: got base %v, head %v, want no figure of base", b.base, b.head)
	}
}

func TestABaselineTakesThePlaceOfBase(t *testing.T) {
	trials := []result.Trial{trial("head", 20, 1), trial("head-again", 22, 1), trial("head-again", 22, 1), trial("head", 20, 1)}
	b := blockOf(trials, figures{MetricCPU: 5})
	if b.base[MetricCPU] != 5 || math.Abs(b.head[MetricCPU]-math.Sqrt(440)) > 1e-9 || math.Abs(b.control[MetricCPU]-1.1) > 1e-9 {
		t.Errorf("got %+v, want the baseline's 5, the mean of 20 and 22, and a control of 1.1", b)
	}
}

func TestSeveralJudgedMetricsShareTheError(t *testing.T) {
	if got := config(MetricCPU, MetricMemory, MetricP99, MetricP50).confidence(); math.Abs(got-0.9975) > 1e-12 {
		t.Errorf("four metrics at 99 %%: got the confidence %v, want 0.9975 each", got)
	}
}

// TestAVersionThatFailsInAFewBlocksIsNamed: its verdict alone would say that it is as good.
func TestAVersionThatFailsInAFewBlocksIsNamed(t *testing.T) {
	f := newFlow(config(), DefaultBudget, sequential.MaxBlocks)
	f.blocks = 39
	f.add(block{failed: map[string]string{headName: "a wrong status"}}, time.Second)
	if got, want := f.failureTexts(), "head failed in 1 of 40 blocks, which do not count: a wrong status"; len(got) != 1 || got[0] != want {
		t.Errorf("got the warnings %q, want %q", got, want)
	}
}

// TestTheControlHasItsFigures: its ratio alone would stand beside two zeros.
func TestTheControlHasItsFigures(t *testing.T) {
	f := newFlow(config(), DefaultBudget, sequential.MaxBlocks)
	for range 2 {
		f.add(blockOf([]result.Trial{
			trial("base", 10, 100), trial("head", 20, 50), trial("base-again", 11, 100), trial("head-again", 20, 50),
			trial("head-again", 20, 50), trial("base-again", 11, 100), trial("head", 20, 50), trial("base", 10, 100),
		}, nil), time.Second)
	}
	if j := f.control.judgement(); math.Abs(j.Base-10) > 1e-9 || math.Abs(j.Head-11) > 1e-9 {
		t.Errorf("got %v and %v us of CPU, want 10 and 11", j.Base, j.Head)
	}
	if j := newFlow(config(), DefaultBudget, sequential.MaxBlocks).control.judgement(); j.Base != 0 || j.Head != 0 {
		t.Errorf("without a block: got %v and %v, want zeros", j.Base, j.Head)
	}
}
