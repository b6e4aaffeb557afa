package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/stat"
	"weir/lab/subject"
)

const (
	sampleEvery   = 50 * time.Millisecond
	connectLimit  = 30 * time.Second
	warmLimit     = 10 * time.Minute
	warmMinSteps  = 5  // progress events, twenty a second
	warmMaxFactor = 10 // times the least warm-up, then it is measured as it is
)

// observer looks at a subject during the measured window, beside what every trial records: it is called
// right before the window, and what it returns right after it.
type observer func(*running) (after func() error, err error)

// trial runs one place of the plan: a fresh subject, warmed, measured and judged. An error is a subject
// or a generator that failed; a spoiled measurement is no error but a trial that is not accepted.
//
// During may be nil. The order: subject, generator, warm-up, measured window, census, then down in reverse. Whatever
// happens, both process trees and their groups are gone when it returns.
func (r *Runner) trial(ctx context.Context, p Place, l Load, during observer) (t result.Trial, err error) {
	t = result.Trial{Subject: p.Subject, Load: p.Load, Connections: p.Connections, Pattern: p.Pattern,
		Block: p.Block, Position: p.Position, Started: time.Now(), RefusedBecause: []string{}}
	s, err := r.startSubject(ctx, p, l)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	g, err := startGenerator(r.generatorArgs(p, l, s.addr), r.site.load)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	g.pulse = r.pulse(p, s)
	if _, err = g.await(ctx, "connected", connectLimit); err != nil {
		return t, s.blame(err)
	}
	if err = r.warm(ctx, g, s, &t); err != nil {
		return t, s.blame(err)
	}
	if err = r.measure(ctx, g, s, &t, during); err != nil {
		return t, s.blame(err)
	}
	return t, nil
}

// rulerWindow is the window of the rulers that the figures do not use, 0 when nobody asked for them.
func (r *Runner) rulerWindow() time.Duration {
	if !r.experiment.Rulers {
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

// running is a subject in its trial. A subject elsewhere has neither a process nor a group.
type running struct {
	subject *subject.Subject
	group   *sample.Group
	process *subject.Process
	addr    string
	began   time.Duration // CLOCK_MONOTONIC
}

func (r *Runner) startSubject(ctx context.Context, p Place, l Load) (*running, error) {
	s := r.subjects[p.base()]
	if s.Elsewhere != "" {
		return &running{addr: s.Elsewhere}, nil
	}
	port, err := r.site.freePort()
	if err != nil {
		return nil, err
	}
	group, err := sample.NewGroup(s.Name)
	if err != nil {
		return nil, err
	}
	params := subject.Params{Host: r.site.host, Port: port, Workload: r.experiment.Workload, Size: l.Size, WorkUS: l.WorkUS, WaitMS: l.WaitMS}
	began := sample.Monotonic()
	process, err := s.Start(ctx, group, params, subject.Place{Sample: r.site.server, Env: []string{"GODEBUG=gctrace=1"}})
	if err != nil {
		return nil, errors.Join(err, group.Close())
	}
	return &running{subject: s.Subject, group: group, process: process, began: began, addr: net.JoinHostPort(params.Host, strconv.Itoa(params.Port))}, nil
}

// blame turns an error of a trial into the subject's death where that was its cause.
func (s *running) blame(err error) error {
	if s.process == nil {
		return err
	}
	select {
	case <-s.process.Done():
		return fmt.Errorf("lab: the subject %s ended in mid-run: %w: run it alone, as weir lab check %s does, to see why",
			s.subject.Name, s.process.Err(), s.subject.Name)
	default:
		return err
	}
}

func (s *running) close() error {
	if s.process == nil {
		return nil
	}
	return errors.Join(s.process.Stop(), s.group.Close())
}

func (s *running) cpu() (time.Duration, error) {
	if s.group == nil {
		return 0, nil
	}
	return s.group.CPU()
}

// collector is what the Go collector did in a window in which the subject used so much CPU; nil for other
// languages.
func (s *running) collector(from, to, cpu time.Duration) *result.GC {
	if s.subject.Language != "Go" {
		return nil
	}
	gc := sample.SummariseGC(sample.ParseGC(s.process.Stderr()), from-s.began, to-s.began, cpu)
	return &gc
}

// generatorArgs is the command of the load of place p.
func (r *Runner) generatorArgs(p Place, l Load, addr string) []string {
	args := append([]string{}, r.options.Generator...)
	args = append(args, "--steer", "--connections", strconv.Itoa(p.Connections), "--size", strconv.Itoa(l.Size),
		"--pattern", p.Pattern, "--seed", strconv.FormatUint(r.plan.Seed+uint64(p.Block*1000+p.Position), 10))
	if l.Bits > 0 {
		args = append(args, "--bits", strconv.FormatFloat(l.Bits, 'f', -1, 64))
	} else {
		args = append(args, "--rate", strconv.FormatFloat(l.Rate, 'f', -1, 64))
	}
	if r.experiment.Workload == "echo" {
		args = append(args, "--echo")
	}
	return append(args, addr)
}

// warm lets the load run until the subject has had the messages that it needs and its CPU per message
// has stopped changing; what the warm-up cost is kept as the cold figure.
func (r *Runner) warm(ctx context.Context, g *generator, s *running, t *result.Trial) error {
	need := int64(r.subjects[Place{Subject: t.Subject}.base()].WarmMessages)
	first, err := s.cpu()
	if err != nil {
		return err
	}
	var values []float64
	lastCPU, lastSent, least := first, int64(0), 0
	err = g.each(ctx, warmLimit, func(ev generatorEvent) (bool, error) {
		cpu, err := s.cpu()
		if err != nil || ev.Event != "progress" || ev.Sent == lastSent {
			return false, err
		}
		values = append(values, us(cpu-lastCPU)/float64(ev.Sent-lastSent))
		lastCPU, lastSent = cpu, ev.Sent
		if ev.Sent < need || len(values) < warmMinSteps {
			return false, nil
		}
		def(&least, len(values))
		_, steady := stat.Steady(values)
		return steady || len(values) >= warmMaxFactor*least, nil
	})
	if err != nil {
		return err
	}
	t.WarmMessages = lastSent
	t.ColdUSPerMsg = us(lastCPU-first) / float64(lastSent)
	return nil
}

// measure records the measured window and fills in the trial's figures.
func (r *Runner) measure(ctx context.Context, g *generator, s *running, t *result.Trial, during observer) error {
	after := func() error { return nil }
	if during != nil {
		var err error
		if after, err = during(s); err != nil {
			return err
		}
	}
	seen, err := r.window(ctx, g, s)
	if err = errors.Join(err, after()); err != nil {
		return err
	}
	if err := g.say("stop"); err != nil {
		return err
	}
	report, err := g.report(ctx)
	if err != nil {
		return err
	}
	fillLoad(t, report)
	r.noteRulers(seen.rulers)
	seen.evidence.Shared = r.site.shared
	seen.fill(t, time.Duration(r.experiment.Window))
	t.RefusedBecause = append(t.RefusedBecause, refusals(t, seen.evidence)...)
	t.Accepted = len(t.RefusedBecause) == 0
	return nil
}

// window watches the subject from the generator's word that the window has begun to its word that it is
// over.
func (r *Runner) window(ctx context.Context, g *generator, s *running) (o observed, err error) {
	d := time.Duration(r.experiment.Duration)
	w := newWatch(s, g, r.rulerWindow())
	defer w.stop()
	if err := g.say("measure " + d.String()); err != nil {
		return o, err
	}
	begin, err := g.await(ctx, "measuring", 5*time.Second)
	if err != nil {
		return o, err
	}
	if err := w.begin(); err != nil {
		return o, err
	}
	end, err := g.await(ctx, "measured", d+30*time.Second)
	if err != nil {
		return o, err
	}
	return w.end(time.Duration(begin.AtNS), time.Duration(end.AtNS))
}

// fillLoad copies what the generator says of itself.
func fillLoad(t *result.Trial, g load.Report) {
	t.Messages, t.Bytes, t.OfferedRate, t.AchievedRatio, t.Behind = g.Messages, g.Bytes, g.OfferedRate, g.AchievedRatio, g.Behind
	t.LatenessUS, t.GapUS, t.LatencyUS = g.LatenessUS, g.GapUS, g.LatencyUS
	t.WindowS = time.Duration(g.WindowNS).Seconds()
	if g.Messages > 0 {
		t.LoadUSPerMsg = us(time.Duration(g.CPUNS)) / float64(g.Messages)
	}
	if g.WindowNS > 0 {
		t.LoadRunQueue = float64(g.RunQueueNS) / float64(g.WindowNS)
	}
	for kind, n := range g.Errors {
		t.RefusedBecause = append(t.RefusedBecause, fmt.Sprintf("load error: %s, %d times", kind, n))
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
