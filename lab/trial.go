package lab

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/sample"
)

const sampleEvery = 50 * time.Millisecond

// The limits on what a generator may take to answer; each begins anew with everything that it says.
const (
	connectLimit = 30 * time.Second // for all connections
	beginLimit   = 5 * time.Second  // from the order to measure to the window's begin
	sayLimit     = 30 * time.Second // for anything else
)

// observer looks at a subject during the measured window, beside what every trial records: it is
// called shortly before the window, and what it returns right after it, with the CLOCK_MONOTONIC of
// the window's begin.
type observer func(*running) (after func(window time.Duration) error, err error)

// failure is what a subject did wrong in its trial while it went on running. It is no error of a
// run: the trial is kept and says so.
type failure string

func (f failure) Error() string { return string(f) }

// trial runs one place of the plan: a fresh subject, warmed, measured and judged. What was spoiled
// (by the generator, the machine, the lab) is refused, what the subject did wrong is its failure,
// and neither is an error. An error ends the run: a subject that died, never got ready or could not
// be reached, or a generator that gave up.
//
// During may be nil. The order: subject, generator, warm-up, measured window, census, then down in
// reverse. Whatever happens, both process trees and their groups are gone when it returns.
func (r *Runner) trial(ctx context.Context, p Place, l Load, during observer) (t result.Trial, err error) {
	t = result.Trial{Subject: p.Subject, Load: p.Load, Connections: p.Connections, Pattern: p.Pattern,
		Block: p.Block, Position: p.Position, Started: time.Now(), RefusedBecause: []string{}}
	if l.Inside {
		return t, r.inside(ctx, p, l, &t)
	}
	s, err := r.startSubject(ctx, p, l)
	if err != nil {
		return t, err
	}
	defer func() { err = s.end(&t, err) }()
	g, err := startGenerator(r.generatorArgs(p, l, s.addr), s.load)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	g.pulse = r.pulse(p, s)
	err = s.blame(ctx, &t, r.drive(ctx, g, s, l, &t, during))
	var failed failure
	if errors.As(err, &failed) {
		t.FailedBecause, err = append(t.FailedBecause, string(failed)), nil
	}
	return t, err
}

// drive takes a trial from its connections to its judgement.
func (r *Runner) drive(ctx context.Context, g *generator, s *running, l Load, t *result.Trial, during observer) error {
	if _, err := g.await(ctx, "connected", connectLimit); err != nil {
		return err
	}
	if !l.Cold {
		if err := r.warm(ctx, g, s, l, t); err != nil {
			return err
		}
	}
	return r.measure(ctx, g, s, l, t, during)
}

// maxRuled is the most connections with which the other rulers are read: they look at every process
// in every window, which with thousands would take longer than the window.
const maxRuled = 256

// rulerWindow is the window of the rulers that the figures do not use, 0 when they are not read.
func (r *Runner) rulerWindow() time.Duration {
	if !r.experiment.Rulers || slices.Max(r.experiment.Connections) > maxRuled {
		return 0
	}
	return time.Duration(r.experiment.Window)
}

// noteRulers keeps what the other rulers are, once.
func (r *Runner) noteRulers(rulers []sample.Reading) {
	if len(r.results.Rulers) > 1 {
		return
	}
	for _, ruler := range rulers {
		r.results.Rulers = append(r.results.Rulers, result.Ruler{Name: ruler.Name, About: ruler.About})
	}
}

// generatorArgs is the command of the load of place p. All subjects of a block meet the same
// arrivals.
func (r *Runner) generatorArgs(p Place, l Load, addr string) []string {
	args := append([]string{}, r.options.Generator...)
	if r.experiment.http() {
		www := r.www
		if r.subjects[p.base()].Elsewhere != "" {
			www = "" // it serves what it has
		}
		return append(args, l.requestArgs(p.Connections, addr, www)...)
	}
	if r.experiment.chat() {
		return append(args, l.roomArgs(p.Connections, addr)...)
	}
	if r.experiment.stack() {
		return append(args, l.operationArgs(p.Connections, addr)...)
	}
	c := l.config(r.experiment.Workload, p.Connections, p.Pattern)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	args = append(args, "stream", "--steer", "--connections", strconv.Itoa(c.Connections), "--size", strconv.Itoa(c.Size), "--pattern", c.Pattern,
		"--idle", strconv.Itoa(c.Idle), "--churn", number(c.Churn), "--seed", strconv.FormatUint(r.plan.Seed+uint64(p.Block), 10))
	if c.Bits > 0 {
		args = append(args, "--bits", number(c.Bits))
	} else {
		args = append(args, "--rate-per-connection", number(c.Rate))
	}
	if c.Echo {
		args = append(args, "--echo")
	}
	return append(args, addr)
}

// measure records the measured window and fills in the trial's figures.
func (r *Runner) measure(ctx context.Context, g *generator, s *running, l Load, t *result.Trial, during observer) error {
	after := func(time.Duration) error { return nil }
	if during != nil {
		var err error
		if after, err = during(s); err != nil {
			return err
		}
	}
	before := s.collected(ctx)
	seen, err := r.window(ctx, g, s, r.windowOf(l))
	collected := s.collected(ctx)
	if err = errors.Join(err, after(seen.from)); err != nil {
		return err
	}
	if err := g.say("stop"); err != nil {
		return err
	}
	report, err := g.report(ctx)
	if err != nil {
		return err
	}
	fillLoad(t, report.Report)
	switch {
	case r.experiment.http():
		fillRequests(t, report)
	case r.experiment.chat():
		fillRooms(t, report)
	case r.experiment.stack():
		s.fillOperation(t, report, before, collected)
	}
	r.noteRulers(seen.rulers)
	seen.fill(t, time.Duration(r.experiment.Window))
	seen.evidence.Shared, seen.evidence.Errors, seen.evidence.Cores = s.shared, report.Errors, r.coresFor(s.process != nil)
	decide(t, seen.evidence)
	return nil
}

// window watches the subject from the generator's word that the window has begun to its word that
// it is over, which comes after d.
func (r *Runner) window(ctx context.Context, g *generator, s *running, d time.Duration) (o observed, err error) {
	w := newWatch(s, g, r.rulerWindow())
	defer w.stop()
	if err := w.look(); err != nil {
		return o, err
	}
	if err := g.say("measure " + d.String()); err != nil {
		return o, err
	}
	begin, err := g.await(ctx, "measuring", beginLimit)
	if err != nil {
		return o, err
	}
	if err := w.begin(); err != nil {
		return o, err
	}
	end, err := g.await(ctx, "measured", d+sayLimit)
	if err != nil {
		return o, err
	}
	return w.end(time.Duration(begin.AtNS), time.Duration(end.AtNS))
}

// fillLoad copies what the generator says of itself.
func fillLoad(t *result.Trial, g load.Report) {
	t.Messages, t.Bytes, t.OfferedRate, t.AchievedRatio, t.Behind = g.Messages, g.Bytes, g.OfferedRate, g.AchievedRatio, g.Behind
	t.LatenessUS, t.GapUS, t.LatencyUS, t.SpreadUS = g.LatenessUS, g.GapUS, g.LatencyUS, g.SpreadUS
	t.WindowS = time.Duration(g.WindowNS).Seconds()
	fillChurn(t, g)
	if t.Messages > 0 {
		t.LoadUSPerMsg = us(time.Duration(g.CPUNS)) / float64(t.Messages)
	}
	if g.WindowNS > 0 {
		t.LoadRunQueue = float64(g.RunQueueNS) / float64(g.WindowNS)
	}
}

// fillChurn adds the short connections, each of which is one message.
func fillChurn(t *result.Trial, g load.Report) {
	c := g.Churn
	if c == nil {
		return
	}
	t.Churn = &result.Churn{Offered: c.Offered, Done: c.Done, Behind: c.Behind, DurationUS: c.DurationUS}
	sent, offered := g.AchievedRatio*float64(g.Offered)+float64(c.Done), float64(g.Offered+c.Offered)
	t.Messages += c.Done
	t.Bytes += c.Done * int64(g.Size)
	t.Behind += c.Behind
	if c.Offered > 0 {
		t.OfferedRate += float64(c.Offered) / t.WindowS
		t.AchievedRatio = sent / offered
	}
}

// base is the subject's name without the mark of the twin.
func (p Place) base() string { return baseName(p.Subject) }

// pulse shows the running trial to whoever watches the run.
func (r *Runner) pulse(p Place, s *running) func() {
	lastCPU, _ := s.cpu()
	lastAt := time.Now()
	return func() {
		state := r.state(p)
		if cpu, err := s.cpu(); err == nil && s.group != nil {
			now := time.Now()
			state.CPU = 100 * float64(cpu-lastCPU) / float64(now.Sub(lastAt))
			lastCPU, lastAt = cpu, now
		}
		r.progress(state)
	}
}
