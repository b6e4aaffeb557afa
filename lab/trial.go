package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/lab/agent"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/workload"
)

const sampleEvery = 50 * time.Millisecond

// The limits on the generator's answers. Each timeout restarts with every event.
const (
	connectTimeout      = 30 * time.Second // for all connections
	measureStartTimeout = 5 * time.Second  // from the command to measure to the start of the window
	eventTimeout        = 30 * time.Second // for any other event
)

// observer observes a subject during the measured window, in addition to what every trial records.
// It is called shortly before the window. The returned function is called right after the window,
// with the CLOCK_MONOTONIC time of the window's start.
type observer func(*workload.Running) (after func(window time.Duration) error, err error)

// failure is what a subject did wrong in its trial while it went on running. It is not an error of
// the run: it is recorded in the trial.
type failure string

func (f failure) Error() string { return string(f) }

// trial runs one place of the plan: a fresh subject, warmed up, measured and judged. A disturbance
// (by the generator, the machine, the lab) rejects the trial. A wrong answer of the subject is its
// failure. Neither is an error. An error ends the run: a subject that exited, did not become ready
// or could not be reached, or a generator that failed.
//
// The argument during may be nil. The order is: subject, generator, warm-up, measured window,
// census, then the reverse to stop them. In every case both process trees and their groups are gone
// when trial returns.
func (r *Runner) trial(ctx context.Context, p Place, l workload.Load, during observer) (t result.Trial, err error) {
	t = result.Trial{Subject: p.Subject, Load: p.Load, Connections: p.Connections, Pattern: p.Pattern,
		Block: p.Block, Position: p.Position, Started: time.Now(), RejectedBecause: []string{}}
	if l.Alone() {
		return t, r.runAlone(ctx, p, l, &t)
	}
	if err := r.awaitAgents(ctx); err != nil {
		return t, err
	}
	s, err := r.startSubject(ctx, p, l)
	if err != nil {
		return t, err
	}
	defer func() { err = stopSubject(s, &t, err) }()
	g, err := r.startLoad(ctx, p, l, s)
	if err != nil {
		return t, record(&t, err)
	}
	defer func() { err = errors.Join(err, g.close()) }()
	g.onTick = r.progressTicker(p, s)
	return t, record(&t, withSubject(attributeError(ctx, s, &t, r.drive(ctx, g, s, l, &t, during)), p.baseSubject()))
}

// record records an error that is no error of the run: a failure of the subject, or a disturbance
// by an agent, which rejects the trial.
func record(t *result.Trial, err error) error {
	var failed failure
	var disturbance *agent.Disturbance
	switch {
	case errors.As(err, &failed):
		t.FailedBecause = append(t.FailedBecause, string(failed))
	case errors.As(err, &disturbance):
		t.RejectedBecause, t.Accepted = append(t.RejectedBecause, disturbance.Text()), false
	default:
		return err
	}
	return nil
}

// startLoad starts the load of place p, on agents if the run has some.
func (r *Runner) startLoad(ctx context.Context, p Place, l workload.Load, s *workload.Running) (*generator, error) {
	if r.agents != nil {
		return r.startOnAgents(ctx, p, l, s)
	}
	return startGenerator(append(slices.Clone(r.options.Generator), r.loadArgs(p, workload.Share{Load: l, Cell: p.Cell}, s.Addr, 0)...), s.Load)
}

// drive runs a trial from its connections to its judgement.
func (r *Runner) drive(ctx context.Context, g *generator, s *workload.Running, l workload.Load, t *result.Trial, during observer) error {
	if _, err := g.awaitEvent(ctx, "connected", connectTimeout); err != nil {
		return err
	}
	var err error
	switch {
	case l.Shared().Cold:
	case l.WarmUp() > 0:
		err = warmFor(ctx, g, s, l.WarmUp(), t)
	default:
		err = r.warmUntilSteady(ctx, g, s, l, t)
	}
	if err != nil {
		return err
	}
	return r.measure(ctx, g, s, l, t, during)
}

// maxAccountingConnections is the largest number of connections with which the other accounting
// methods are read. They read every process in every window, which would take longer than the
// window with thousands.
const maxAccountingConnections = 256

// accountingWindow returns the sampling window of the CPU accounting methods that the figures do
// not use; 0 if they are not read.
func (r *Runner) accountingWindow() time.Duration {
	if !r.experiment.AllAccounting || slices.Max(r.experiment.Connections) > maxAccountingConnections {
		return 0
	}
	return time.Duration(r.experiment.Window)
}

// recordAccountingMethods stores the descriptions of the other accounting methods, once.
func (r *Runner) recordAccountingMethods(others []sample.Reading) {
	if len(r.results.AccountingMethods) > 1 {
		return
	}
	for _, method := range others {
		r.results.AccountingMethods = append(r.results.AccountingMethods, result.AccountingMethod{Name: method.Name, About: method.About})
	}
}

// loadArgs returns the arguments of weir load for the i-th share of the load of place p. All
// subjects of a block meet the same arrivals, and all shares have other ones.
func (r *Runner) loadArgs(p Place, share workload.Share, addr string, i int) []string {
	seed := r.plan.Seed + uint64(p.Block) + uint64(i)<<32
	s := r.subjects[p.baseSubject()]
	to := workload.Target{Addr: addr, Elsewhere: s.Target != "", Seed: seed, TLS: s.OwnTLS, OwnCertificate: !s.ServesTLS()}
	return r.workload.Args(share.Load, share.Cell, to)
}

// measure records the measured window and sets the trial's figures.
func (r *Runner) measure(ctx context.Context, g *generator, s *workload.Running, l workload.Load, t *result.Trial, during observer) error {
	after := func(time.Duration) error { return nil }
	if during != nil {
		var err error
		if after, err = during(s); err != nil {
			return err
		}
	}
	before := s.RuntimeStats(ctx)
	seen, err := r.window(ctx, g, s, r.windowOf(l))
	collected := s.RuntimeStats(ctx)
	if err = errors.Join(err, after(seen.from)); err != nil {
		return err
	}
	if err := g.send("stop"); err != nil {
		return err
	}
	report, text, err := g.report(ctx)
	if err != nil {
		return err
	}
	r.reported = report
	fillLoad(t, report)
	if err := g.fillAgents(t, s, &seen); err != nil {
		return err
	}
	if err := r.workload.Fill(t, l, workload.Measured{Subject: s, Report: text, Before: before, After: collected}); err != nil {
		return fmt.Errorf("lab: the load generator's report: %w", err)
	}
	r.recordAccountingMethods(seen.accounting)
	seen.fill(t, time.Duration(r.experiment.Window))
	s.Errors = report.Errors
	seen.evidence.SharedCores, seen.evidence.Errors, seen.evidence.Cores = s.SharedCores, report.Errors, r.coresOf(s)
	judgeTrial(r.workload, t, seen.evidence)
	t.Limit = limitOf(t, seen.evidence)
	return nil
}

// window observes the subject between the generator's events for the start and the end of the
// window, which are d apart.
func (r *Runner) window(ctx context.Context, g *generator, s *workload.Running, d time.Duration) (o observation, err error) {
	w := startWatch(s, g, r.accountingWindow())
	defer w.stop()
	if err := w.takeCensus(); err != nil {
		return o, err
	}
	if err := g.send("measure " + d.String()); err != nil {
		return o, err
	}
	begin, err := g.awaitEvent(ctx, "measuring", measureStartTimeout)
	if err != nil {
		return o, err
	}
	if err := w.start(); err != nil {
		return o, err
	}
	end, err := g.awaitEvent(ctx, "measured", d+eventTimeout)
	if err != nil {
		return o, err
	}
	return w.finish(time.Duration(begin.AtNS), time.Duration(end.AtNS))
}

// fillLoad copies the figures of the generator's report.
func fillLoad(t *result.Trial, g load.Report) {
	t.Messages, t.Bytes, t.OfferedRate, t.AchievedRatio, t.Behind = g.Messages, g.Bytes, g.OfferedRate, g.AchievedRatio, g.Behind
	t.LatenessUS, t.GapUS, t.LatencyUS, t.SpreadUS = g.LatenessUS, g.GapUS, g.LatencyUS, g.SpreadUS
	t.LatencyMeanUS, t.WindowS = g.LatencyMeanUS, time.Duration(g.WindowNS).Seconds()
	if t.Messages > 0 {
		t.LoadUSPerMsg = us(time.Duration(g.CPUNS)) / float64(t.Messages)
	}
	if g.WindowNS > 0 {
		t.LoadRunQueue = float64(g.RunQueueNS) / float64(g.WindowNS)
	}
}

// baseSubject returns the subject's name without the suffix of the A/A control.
func (p Place) baseSubject() string { return baseName(p.Subject) }

// progressTicker returns a function that reports the progress of the running trial.
func (r *Runner) progressTicker(p Place, s *workload.Running) func() {
	lastCPU, _ := s.CPU()
	lastAt := time.Now()
	return func() {
		state := r.progressFor(p)
		if cpu, err := s.CPU(); err == nil && s.Group != nil {
			now := time.Now()
			state.CPU = 100 * float64(cpu-lastCPU) / float64(now.Sub(lastAt))
			lastCPU, lastAt = cpu, now
		}
		r.progress(state)
	}
}
