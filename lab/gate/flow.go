package gate

import (
	"fmt"
	"math"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"weir/lab/result"
	"weir/lab/stat/sequential"
)

// Names of the verdicts of an Outcome.
const (
	NoWorse   = "no worse"
	Worse     = "worse"
	Undecided = "undecided"
	Recorded  = "recorded" // there is no version to compare with
)

const (
	// trialsOfVersion is the number of trials of a version in a block.
	trialsOfVersion = 4
	// maxFailures is how many blocks may be void by failures of one version.
	maxFailures = 3
	// reserve is the part of the budget that is not planned, because blocks differ in duration.
	reserve = 0.03
)

// figures are the values of one subject in one block by metric: geometric means of its trials.
type figures map[string]float64

// A block is what one block of trials measured.
type block struct {
	base, head figures // base is empty without a BASE
	control    figures // ratios of the second to the first part of one version
	// CPU per message of those two parts; 0 if it is not known
	first, again float64
	failed       map[string]string
}

// flow is the decision of a gate, as a pure function of blocks and of the time that they took.
type flow struct {
	confidence float64 // of each judged metric
	margin     float64
	budget     time.Duration // for all blocks
	most       int           // limit on planned blocks
	tracks     []*track
	control    *control

	planned  int            // blocks; 0 before the first one
	blocks   int            // that count
	failures map[string]int // void blocks by version
	// from the start of the trials to the end of the last void block
	voidUntil time.Duration
	// why a version failed most recently, by version
	failedBecause map[string]string
	err           error // why it cannot go on
}

// A track is one metric's way to a decision.
type track struct {
	metric
	judged     bool
	test       *sequential.Test
	last       sequential.Decision
	base, head []float64 // logarithms by block
}

func newTrack(m metric, judged bool) *track {
	return &track{metric: m, judged: judged, last: sequential.Decision{High: math.Inf(1)}}
}

// control is the test of the A/A control, in both directions.
type control struct {
	up, down         *sequential.Test
	last, lastInvert sequential.Decision
	logs             []float64
	first, again     []float64 // logarithms of the figures whose ratios are in logs
}

// newFlow returns the flow of a gate that judges the named metrics. most limits the blocks.
func newFlow(c *Config, budget time.Duration, most int) *flow {
	f := &flow{confidence: c.confidence(), margin: c.Margin, budget: budget, most: most, control: &control{}, failures: map[string]int{}, failedBecause: map[string]string{}}
	judged := map[string]bool{}
	for _, name := range c.Metrics {
		judged[name] = true
	}
	for _, m := range metrics {
		if m.of != nil {
			f.tracks = append(f.tracks, newTrack(m, judged[m.name]))
		}
	}
	return f
}

// plan fixes the number of blocks after the first one that counts, when so much time was spent. No
// decision has been made by then, so that the error rates hold.
func (f *flow) plan(spent time.Duration) error {
	took := max(spent-f.voidUntil, time.Millisecond)
	f.planned = min(f.most, int(((1-reserve)*float64(f.budget)-float64(f.voidUntil))/float64(took)))
	if f.planned < sequential.FirstLook {
		return fmt.Errorf("gate: a block takes %v, so that only %d fit the budget of %v, and a decision needs %d or more: give more time, shorter windows, or a load that the server can carry", took.Round(100*time.Millisecond), f.planned, f.budget.Round(time.Second), sequential.FirstLook)
	}
	return f.start()
}

// start creates the tests of the planned blocks.
func (f *flow) start() (err error) {
	for _, t := range f.tracks {
		if t.test, err = sequential.New(planOf(f.margin, f.confidence, f.planned)); err != nil {
			return err
		}
	}
	p := planOf(f.margin, f.confidence, f.planned)
	if f.control.up, err = sequential.New(p); err == nil {
		f.control.down, err = sequential.New(p)
	}
	return err
}

// planOf returns a plan with half of the error that is allowed. The other half is for blocks that
// are not normal (docs/adr/0033).
func planOf(margin, confidence float64, blocks int) sequential.Plan {
	return sequential.Plan{Margin: margin, Confidence: (1 + confidence) / 2, Blocks: blocks}
}

// add takes a block, and the time since the first block started. It reports whether to stop: all
// judged metrics are decided, or the planned blocks are used up, or an error was found.
func (f *flow) add(b block, spent time.Duration) (stop bool) {
	for name, why := range b.failed {
		f.failedBecause[name] = why
		if f.failures[name]++; f.failures[name] >= maxFailures {
			f.err = fmt.Errorf("gate: %s failed in %d blocks: %s", name, maxFailures, why)
		}
	}
	if len(b.failed) > 0 {
		f.voidUntil = spent
		return f.err != nil
	}
	if f.planned == 0 {
		if f.err = f.plan(spent); f.err != nil {
			return true
		}
	}
	f.blocks++
	for _, t := range f.tracks {
		t.add(b)
	}
	f.control.add(b)
	return f.decided() || f.blocks >= f.planned
}

// close ends the tests, whose time is over or whose blocks were lost: their last look has the error
// that is left.
func (f *flow) close() {
	for _, t := range f.tracks {
		t.last = t.test.Close()
	}
	f.control.last, f.control.lastInvert = f.control.up.Close(), f.control.down.Close()
}

// add gives a block to a metric's test, unless that has ended. A block without the figure is left
// out. Without a BASE there is nothing to test.
func (t *track) add(b block) {
	if t.test.Ended() {
		return // the means are those of the blocks of the interval
	}
	base, head := b.base[t.name], b.head[t.name]
	if head > 0 {
		t.head = append(t.head, math.Log(head))
	}
	if !(base > 0 && head > 0) {
		return
	}
	t.base = append(t.base, math.Log(base))
	if d, err := t.test.Add(t.cost(base, head)); err == nil {
		t.last = d
	}
}

// add gives the A/A control's block to its tests. Its metric is CPU per message.
func (c *control) add(b block) {
	ratio := b.control[MetricCPU]
	if !(ratio > 0) {
		return
	}
	c.logs = append(c.logs, math.Log(ratio))
	c.first, c.again = append(c.first, math.Log(b.first)), append(c.again, math.Log(b.again))
	if d, err := c.up.Add(ratio); err == nil {
		c.last = d
	}
	if d, err := c.down.Add(1 / ratio); err == nil {
		c.lastInvert = d
	}
}

// differs reports whether the same program seemed to cost something else the second time.
func (c *control) differs() bool {
	return c.last.Verdict == sequential.Worse || c.lastInvert.Verdict == sequential.Worse
}

// noise returns the standard deviation of the A/A control's blocks, of logarithms; 0 with fewer
// than two.
func (c *control) noise() float64 {
	if len(c.logs) < 2 {
		return 0
	}
	return stat.StdDev(c.logs, nil)
}

// decided reports whether each judged metric of the trials has a verdict.
func (f *flow) decided() bool {
	for _, t := range f.tracks {
		if t.judged && t.last.Verdict == sequential.Undecided {
			return false
		}
	}
	return true
}

// blockOf returns the figures of a block's trials. pair is the baseline's block in place of BASE;
// nil: none.
func blockOf(trials []result.Trial, pair figures) block {
	logs := map[string]map[string][]float64{}
	b := block{failed: map[string]string{}}
	for i := range trials {
		t := &trials[i]
		if len(t.FailedBecause) > 0 {
			b.failed[strings.TrimSuffix(t.Subject, againSuffix)] = t.FailedBecause[0]
		}
		if logs[t.Subject] == nil {
			logs[t.Subject] = map[string][]float64{}
		}
		for _, m := range metrics {
			if m.of != nil && m.of(t) > 0 {
				logs[t.Subject][m.name] = append(logs[t.Subject][m.name], math.Log(m.of(t)))
			}
		}
	}
	b.base, b.head = meansOf(logs[baseName], logs[baseName+againSuffix]), meansOf(logs[headName], logs[headName+againSuffix])
	first := baseName
	if len(b.base) == 0 {
		first, b.base = headName, pair
	}
	b.control = figures{}
	for name, again := range logs[first+againSuffix] {
		if one := logs[first][name]; len(one) > 0 {
			b.control[name] = math.Exp(stat.Mean(again, nil) - stat.Mean(one, nil))
			if name == MetricCPU {
				b.first, b.again = math.Exp(stat.Mean(one, nil)), math.Exp(stat.Mean(again, nil))
			}
		}
	}
	return b
}

// meansOf returns the geometric means of the values of a version, whose logarithms are in two
// parts. A metric that a trial does not have is left out.
func meansOf(one, again map[string][]float64) figures {
	means := figures{}
	for name, logs := range one {
		if all := append(logs[:len(logs):len(logs)], again[name]...); len(all) == trialsOfVersion {
			means[name] = math.Exp(stat.Mean(all, nil))
		}
	}
	return means
}
