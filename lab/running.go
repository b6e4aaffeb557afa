package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/workload"
)

// exitGrace is how long the lab waits for a process to exit after its connections broke.
const exitGrace = time.Second

func (r *Runner) startSubject(ctx context.Context, p Place, l workload.Load) (*workload.Running, error) {
	s := r.subjects[p.baseSubject()]
	if s.Target != "" {
		return &workload.Running{Subject: s.Subject, Addr: s.Target, Unaccounted: s.OnThisMachine, Load: r.site.Load, SharedCores: r.site.SharedCores}, nil
	}
	return r.workload.Start(ctx, s.Subject, l)
}

// attributeError replaces an error of a trial, or the loss of connections in it, by the subject's
// exit if that was the cause. Connections break before the exit is reported, so it waits exitGrace
// for it.
func attributeError(ctx context.Context, s *workload.Running, t *result.Trial, err error) error {
	lost := len(withPrefix(result.LoadError, t.FailedBecause)) > 0 || len(s.Errors) > 0
	if err == nil && !lost || s.Process == nil || ctx.Err() != nil {
		return workload.ContextError(ctx, err)
	}
	timeout := time.NewTimer(exitGrace)
	defer timeout.Stop()
	select {
	case <-s.Process.Done():
		return exitError(s)
	case <-timeout.C:
		return err
	}
}

// exitError returns the error of a subject that exited by itself; nil while it runs.
func exitError(s *workload.Running) error {
	if why := s.Process.Err(); why != nil {
		return fmt.Errorf("lab: the subject %s exited during the run: %w%s", s.Subject.Name, why, s.Subject.HowToCheck())
	}
	return nil
}

// stopSubject stops the subject of a trial with error err, and removes its group. A server that
// does not stop cleanly is noted in the trial, whose figures were complete by then. Only processes
// that are left behind are an error.
func stopSubject(s *workload.Running, t *result.Trial, err error) error {
	if s.Process == nil {
		return err
	}
	if err == nil {
		err = exitError(s)
	}
	bad, left := s.Stop()
	t.GC = s.GC()
	if bad != nil && err == nil {
		t.StopFailure = bad.Error()
	}
	return errors.Join(err, left)
}

// runAlone runs the trial of a subject that measures itself.
func (r *Runner) runAlone(ctx context.Context, p Place, l workload.Load, t *result.Trial) error {
	s := r.subjects[p.baseSubject()].Subject
	observe := func(work func(*sample.Group) error) (workload.Evidence, error) {
		return r.observeGroup(p, s.Name, work)
	}
	ev, err := r.workload.RunAlone(ctx, workload.Alone{Subject: s, Load: l, Cell: p.Cell, Window: r.windowOf(l), Trial: t, Observe: observe})
	if err == nil {
		judgeTrial(r.workload, t, ev)
	}
	return err
}

// observeGroup observes the machine while work runs in a process group of its own. The kernel
// threads that move packets count as part of the trial. The generator is inside the subject's
// process, so a generator process is missing here.
func (r *Runner) observeGroup(p Place, name string, work func(*sample.Group) error) (ev workload.Evidence, err error) {
	group, err := sample.NewGroup(name)
	if err != nil {
		return ev, err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	before, err := readGroup(group)
	if err != nil {
		return ev, err
	}
	r.progress(r.progressFor(p))
	if err := work(group); err != nil {
		return ev, err
	}
	after, err := readGroup(group)
	if err != nil {
		return ev, err
	}
	seen := observation{before: before, after: after, ownsPacketThreads: true}
	return seen.judge((&watch{subject: &workload.Running{Group: group}, generator: &generator{}}).trialProcesses()), nil
}

func readGroup(g *sample.Group) (r reading, err error) {
	if r.machine, err = sample.ReadMachine(); err == nil {
		r.subject, err = g.CPU()
	}
	r.lab = ownCPU()
	return r, err
}
