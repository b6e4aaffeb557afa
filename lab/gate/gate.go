package gate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/lab"
	"weir/lab/result"
	"weir/lab/stat/sequential"
)

// Run builds the versions and measures them until each judged metric is decided or the budget is
// used. When it returns, its worktrees, temporary files and processes are gone, also after an error
// or the end of ctx. An error means that there is no verdict: a version could not be built or run,
// or failed in several blocks.
func Run(ctx context.Context, c Config) (o *Outcome, err error) {
	if err := errors.Join(c.Validate(), c.checkOut()); err != nil {
		return nil, err
	}
	t, err := newTrees()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close(ctx)) }()
	g := &run{config: &c, temp: t.temp}
	if c.Base != "" {
		if g.base, err = c.build(ctx, t, c.Base, baseName); err != nil {
			return nil, err
		}
	}
	if g.head, err = c.build(ctx, t, c.Head, headName); err != nil {
		return nil, err
	}
	return g.measure(ctx)
}

// checkOut returns an error if the folder for the results holds a run, before anything is built.
func (c *Config) checkOut() error {
	if c.Out == "" {
		return nil
	}
	if err := lab.CheckOut(c.Out); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	return nil
}

// run is a gate whose versions are built. It belongs to the goroutine of Run.
type run struct {
	config     *Config
	temp       string
	base, head *Build // base is nil without one
	flow       *flow
	startup    *track // nil: not measured
	began      time.Time
	// when the trials began, after the starts
	trialsBegan time.Time
	firstBlock  *time.Timer // ends the trials; stopped after the first block
	blocks      []block     // that count
}

func (g *run) measure(ctx context.Context) (*Outcome, error) {
	c := g.config
	g.began = time.Now()
	if slices.Contains(c.Metrics, MetricStartup) {
		if g.base == nil {
			return nil, errors.New("gate: start-up times are not part of a baseline: name BASE, or leave the metric startup out")
		}
		var err error
		if g.startup, err = c.startups(ctx, g.base, g.head); err != nil {
			return nil, err
		}
	}
	if err := c.checkBaseline(); err != nil {
		return nil, err
	}
	// at least a moment, since no time would be no limit
	left := max((c.Budget - time.Since(g.began)).Round(100*time.Millisecond), 100*time.Millisecond)
	g.flow = newFlow(c, left, g.mostBlocks())
	runner, err := lab.NewRunner(ctx, c.experiment(left), g.options(), c.trialProgress)
	if err != nil {
		return nil, g.explain(err)
	}
	if b := c.Baseline; b != nil {
		if err := b.check(runner.Machine(), loadOf(c.Load), c.ServerCPUs); err != nil {
			return nil, errors.Join(err, runner.Close())
		}
	}
	return g.trials(ctx, runner, left)
}

// trials runs the trials until there is a decision or the time that is left is used, and closes the
// runner.
func (g *run) trials(ctx context.Context, runner *lab.Runner, left time.Duration) (*Outcome, error) {
	g.trialsBegan = time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g.firstBlock = time.AfterFunc(left, func() { cancel(errFirstBlock) })
	defer g.firstBlock.Stop()
	results, err := runner.Run(ctx)
	err = errors.Join(err, runner.Close())
	switch {
	case context.Cause(ctx) == errFirstBlock:
		return nil, fmt.Errorf("gate: the budget of %v %w: give more time, shorter windows, or a load that the server can carry", g.config.Budget, errFirstBlock)
	case err != nil:
		return nil, g.explain(err)
	}
	return g.conclude(results)
}

// errFirstBlock ends a gate whose first block takes its whole budget: it could not decide.
var errFirstBlock = errors.New("ended within the first block")

// explain says which versions the subjects in an error of the lab are.
func (g *run) explain(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	text := fmt.Sprintf("head is %s", g.head)
	if g.base != nil {
		text = fmt.Sprintf("base is %s, %s", g.base, text)
	}
	return fmt.Errorf("gate: the trials failed (%s): %w", text, err)
}

// mostBlocks limits the blocks: a baseline has so many.
func (g *run) mostBlocks() int {
	if b := g.config.Baseline; b != nil {
		return min(len(b.Blocks), sequential.MaxBlocks)
	}
	return sequential.MaxBlocks
}

func (g *run) options() lab.Options {
	c := g.config
	out := c.Out
	if out == "" {
		out = filepath.Join(g.temp, "trials")
	}
	return lab.Options{
		Out: out, Root: g.temp, Seed: c.Seed, ServerCPUs: c.ServerCPUs, Generator: c.Generator, Command: c.Command, Weir: c.Weir,
		Subjects: subjectsOf(g.base, g.head), Attempts: 1, Order: alternate, AfterBlock: g.afterBlock,
	}
}

// afterBlock gives the newest block to the flow. It reports whether to stop.
func (g *run) afterBlock(r *result.Results) (stop bool) {
	g.firstBlock.Stop()
	number := r.Trials[len(r.Trials)-1].Block
	of := slices.DeleteFunc(slices.Clone(r.Trials), func(t result.Trial) bool { return t.Block != number })
	b := blockOf(of, g.pair())
	if len(b.failed) == 0 {
		g.blocks = append(g.blocks, b)
	}
	return g.flow.add(b, time.Since(g.trialsBegan))
}

// pair returns the baseline's block that the next block is compared with.
func (g *run) pair() figures {
	if b := g.config.Baseline; b != nil && len(g.blocks) < len(b.Blocks) {
		return b.Blocks[len(g.blocks)]
	}
	return nil
}

// conclude returns the outcome of the trials.
func (g *run) conclude(r *result.Results) (*Outcome, error) {
	f := g.flow
	switch {
	case f.err != nil:
		return nil, f.err
	case f.blocks == 0:
		return nil, fmt.Errorf("gate: the budget of %v ended before a block that counts: %s", g.config.Budget, strings.Join(f.failureTexts(), "; "))
	case !f.decided():
		f.close()
	}
	for _, name := range g.config.Metrics {
		if err := g.checkMeasured(name); err != nil {
			return nil, err
		}
	}
	return g.outcome(r), nil
}

// checkMeasured is the error of a judged metric that the load or the versions do not have.
func (g *run) checkMeasured(name string) error {
	m := metricNamed(name)
	switch {
	case m.of != nil:
		for _, t := range g.flow.tracks {
			if t.name == name && len(t.head) == 0 {
				return fmt.Errorf("gate: the load %s has no %s: leave that metric out, or choose another load", g.config.Load.Name, m.title)
			}
		}
	case name == MetricBinary && !g.config.Record && !(g.baseBytes() > 0 && g.headBytes() > 0):
		return errors.New("gate: the size of the binary is not known: name the file in subject.toml (binary), or leave that metric out")
	}
	return nil
}

// headBytes returns the size of HEAD's binary; 0 if it is not known.
func (g *run) headBytes() float64 {
	return float64(g.head.subject.Describe().BinaryBytes)
}

// baseBytes returns the size of BASE's binary, or of that of the baseline; 0 if it is not known.
func (g *run) baseBytes() float64 {
	switch {
	case g.base != nil:
		return float64(g.base.subject.Describe().BinaryBytes)
	case g.config.Baseline != nil:
		return float64(g.config.Baseline.BinaryBytes)
	}
	return 0
}
