package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
)

// exitGrace is how long the lab waits for a process to exit after its connections broke.
const exitGrace = time.Second

// running is a subject in its trial. A subject that runs elsewhere has neither a process nor a
// group.
type running struct {
	subject *subject.Subject
	group   *sample.Group
	process *subject.Process
	addr    string
	// not started by the lab, but on this machine: its processes are not known
	unaccounted bool
	load        sample.Placement // placement of the generator
	// generator and subject use the same cores, or the generator shares its own with an upstream
	sharedCores bool
	upstream    *upstream // behind the subject, if it is a proxy; else nil

	onStack // for a TCP/IP stack only

	startedAt time.Duration // CLOCK_MONOTONIC
}

func (r *Runner) startSubject(ctx context.Context, p Place, l Load) (*running, error) {
	s := r.subjects[p.baseSubject()]
	if s.Target != "" {
		return &running{subject: s.Subject, addr: s.Target, unaccounted: s.OnThisMachine, load: r.site.load, sharedCores: r.site.sharedCores}, nil
	}
	return r.experiment.workload().start(ctx, r, s.Subject, l)
}

// startServer starts a server for a trial.
func (r *Runner) startServer(ctx context.Context, s *subject.Subject, l Load) (*running, error) {
	port, err := r.site.freePort()
	if err != nil {
		return nil, err
	}
	group, err := sample.NewGroup(s.Name)
	if err != nil {
		return nil, err
	}
	params := subject.Params{Host: r.site.host, Port: port, Workload: r.experiment.Workload, Size: l.Size, WorkUS: l.WorkUS, WaitMS: l.WaitMS,
		Www: r.www, SleepMS: l.SleepMS, SleepEvery: l.SleepEvery, Filters: l.Filters, Gzip: l.Gzip}
	if r.upstream != nil {
		params.Upstream = r.upstream.addr
	}
	if l.TLS {
		params.Cert, params.Key = r.certificate.Cert, r.certificate.Key
	}
	began := sample.Monotonic()
	process, err := s.Start(ctx, group, params, subject.Place{Sample: r.site.server, Env: []string{"GODEBUG=gctrace=1"}, ReadyTimeout: r.readyTimeout})
	if err != nil {
		return nil, errors.Join(contextError(ctx, err), group.Close())
	}
	return &running{subject: s, group: group, process: process, startedAt: began, addr: net.JoinHostPort(params.Host, strconv.Itoa(params.Port)),
		load: r.site.load, sharedCores: r.site.sharedCores || r.upstream != nil, upstream: r.upstream}, nil
}

// contextError returns ctx.Err() if err is set and ctx has ended, otherwise err.
func contextError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// attributeError replaces an error of a trial, or the loss of connections in it, by the subject's
// exit if that was the cause. Connections break before the exit is reported, so it waits exitGrace
// for it.
func (s *running) attributeError(ctx context.Context, t *result.Trial, err error) error {
	lost := len(withPrefix(result.LoadError, t.FailedBecause)) > 0 || t.HTTP != nil && len(t.HTTP.Errors) > 0
	if err == nil && !lost || s.process == nil || ctx.Err() != nil {
		return contextError(ctx, err)
	}
	timeout := time.NewTimer(exitGrace)
	defer timeout.Stop()
	select {
	case <-s.process.Done():
		return s.exitError()
	case <-timeout.C:
		return err
	}
}

// exitError returns the error of a subject that exited by itself; nil while it runs.
func (s *running) exitError() error {
	if why := s.process.Err(); why != nil {
		return fmt.Errorf("lab: the subject %s exited during the run: %w: run it alone with weir lab check %s to see why", s.subject.Name, why, s.subject.Name)
	}
	return nil
}

// stop stops the subject of a trial with error err, and removes its group. A server that does not
// stop cleanly is noted in the trial, whose figures were complete by then. Only processes that are
// left behind are an error.
func (s *running) stop(t *result.Trial, err error) error {
	if s.process == nil {
		return err
	}
	if err == nil {
		err = s.exitError()
	}
	if bad := s.process.Stop(); bad != nil && err == nil {
		t.StopFailure = bad.Error()
	}
	return errors.Join(err, s.group.Close(), s.onStack.close())
}

func (s *running) cpu() (time.Duration, error) {
	if s.group == nil {
		return 0, nil
	}
	return s.group.CPU()
}

// unread returns the number of bytes in the subject's receive queues that it has not read; 0 if
// unknown.
func (s *running) unread() int64 {
	if s.process == nil {
		return 0
	}
	return s.process.Unread()
}

// gcInWindow summarises the Go garbage collector's work in a window in which the subject used the
// given CPU; nil for other languages. The times in the collector's log lines count from the start
// of the process that wrote them. Those of processes started later therefore appear too early, and
// some fall out of the window.
func (s *running) gcInWindow(from, to, cpu time.Duration) *result.GC {
	if s.subject.Language != "Go" {
		return nil
	}
	gc := sample.SummariseGC(sample.ParseGC(s.process.Stderr()), from-s.startedAt, to-s.startedAt, cpu)
	return &gc
}

// isLocalAddress reports whether the host of HOST:PORT is this machine. A host that cannot be
// resolved is not.
func isLocalAddress(ctx context.Context, addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ips, _ := net.DefaultResolver.LookupIPAddr(ctx, host)
	own, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(ips, func(ip net.IPAddr) bool {
		return ip.IP.IsLoopback() || ip.IP.IsUnspecified() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip.IP)
		})
	})
}
