package workload

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
)

// Running is a subject in its trial. A subject that runs elsewhere has neither a process nor a
// group.
type Running struct {
	Subject *subject.Subject
	Group   *sample.Group
	Process *subject.Process
	Addr    string // what the generator connects to
	// not started by the lab, but on this machine: its processes are not known
	Unaccounted bool
	Load        sample.Placement // placement of the generator
	// generator and subject use the same cores, or the generator shares its own with Aside
	SharedCores bool
	// processes that work for the trial and are not the subject's; nil if there are none
	Aside *sample.Group
	// the kernel's packet threads (ksoftirqd) work for the trial
	OwnsPacketThreads bool
	StartedAt         time.Duration // CLOCK_MONOTONIC
	// failures that the generator found, by kind; set after the measured window
	Errors map[string]int64

	// returns a report of the subject's garbage collector, nil if it has none to give; nil for
	// subjects that never have
	Collector func(context.Context) *result.RuntimeStats
	Own       any          // what the workload's Fill needs of the start
	Release   func() error // frees what the subject used, after its end; nil: nothing

	from, to time.Duration // the measured window (CLOCK_MONOTONIC)
	used     time.Duration // the subject's CPU in it
}

// Stop stops the subject, and removes its group. badEnd is the error of a subject that did not stop
// cleanly; processes that are left behind are an error.
func (r *Running) Stop() (badEnd, err error) {
	if r.Process != nil {
		badEnd = r.Process.Stop()
	}
	if r.Group != nil {
		err = r.Group.Close()
	}
	if r.Release != nil {
		err = errors.Join(err, r.Release())
	}
	return badEnd, err
}

// CPU returns the CPU that the subject used so far; 0 if it is not known.
func (r *Running) CPU() (time.Duration, error) { return groupCPU(r.Group) }

// AsideCPU returns the CPU that the processes beside the subject used so far.
func (r *Running) AsideCPU() (time.Duration, error) { return groupCPU(r.Aside) }

func groupCPU(g *sample.Group) (time.Duration, error) {
	if g == nil {
		return 0, nil
	}
	return g.CPU()
}

// Unread returns the number of bytes in the subject's receive queues that it has not read; 0 if
// unknown.
func (r *Running) Unread() int64 {
	if r.Process == nil {
		return 0
	}
	return r.Process.Unread()
}

// RuntimeStats returns a report of the subject's garbage collector; nil if there is none.
func (r *Running) RuntimeStats(ctx context.Context) *result.RuntimeStats {
	if r.Collector == nil {
		return nil
	}
	return r.Collector(ctx)
}

// Measured notes the measured window, and the CPU that the subject used in it, for GC.
func (r *Running) Measured(from, to, cpu time.Duration) { r.from, r.to, r.used = from, to, cpu }

// GC summarises the Go garbage collector's work in the measured window; nil for other languages,
// and without a window. It is called when the subject has stopped: only then all of its output is
// read. The times in the collector's log lines count from the start of the process that wrote them.
// Those of processes started later therefore appear too early, and some fall out of the window.
func (r *Running) GC() *result.GC {
	if r.Subject.Language != "Go" || r.to == 0 {
		return nil
	}
	gc := sample.SummariseGC(sample.ParseGC(r.Process.Stderr()), r.from-r.StartedAt, r.to-r.StartedAt, r.used)
	return &gc
}

// Servers is the part of a Session that is the same for all workloads whose subjects are servers.
type Servers struct{ Site *Site }

// StartServer starts a server with the parameters of a load. Its address, port and workload are set
// here.
func (v Servers) StartServer(ctx context.Context, s *subject.Subject, p subject.Params) (*Running, error) {
	port, err := v.Site.portFor(s)
	if err != nil {
		return nil, err
	}
	group, err := sample.NewGroup(s.Name)
	if err != nil {
		return nil, err
	}
	p.Host, p.Port, p.Workload = v.Site.Host, port, v.Site.Workload
	began := sample.Monotonic()
	process, err := s.Start(ctx, group, p, subject.Place{Sample: v.Site.Server, Env: []string{CollectorLog}, ReadyTimeout: v.Site.ReadyTimeout})
	if err != nil {
		return nil, errors.Join(ContextError(ctx, err), group.Close())
	}
	return &Running{Subject: s, Group: group, Process: process, StartedAt: began, Addr: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)),
		Load: v.Site.Load, SharedCores: v.Site.SharedCores}, nil
}

// CollectorLog is the environment in which a Go program writes a line to standard error for each
// garbage collection.
const CollectorLog = "GODEBUG=gctrace=1"

// RunAlone implements Session: every load of servers has a generator.
func (Servers) RunAlone(context.Context, Alone) (Evidence, error) { return Evidence{}, errNotAlone }

// Close implements Session: nothing was shared.
func (Servers) Close() error { return nil }

// ContextError returns ctx.Err() if err is set and ctx has ended, otherwise err.
func ContextError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
