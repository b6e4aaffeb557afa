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

// deathNews is how long after its connections broke a dead process may take to be collected.
const deathNews = time.Second

// running is a subject in its trial. A subject elsewhere has neither a process nor a group.
type running struct {
	subject *subject.Subject
	group   *sample.Group
	process *subject.Process
	addr    string
	here    bool             // nobody started it, and yet it stands on this machine
	load    sample.Placement // of its generator
	shared  bool             // they use the same cores

	onStack // of a TCP/IP stack alone

	began time.Duration // CLOCK_MONOTONIC
}

func (r *Runner) startSubject(ctx context.Context, p Place, l Load) (*running, error) {
	s := r.subjects[p.base()]
	if s.Elsewhere != "" {
		return &running{subject: s.Subject, addr: s.Elsewhere, here: s.Here, load: r.site.load, shared: r.site.shared}, nil
	}
	if r.experiment.stack() {
		return r.startStack(ctx, s.Subject, l)
	}
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
	began := sample.Monotonic()
	process, err := s.Start(ctx, group, params, subject.Place{Sample: r.site.server, Env: []string{"GODEBUG=gctrace=1"}, Within: r.readyWithin})
	if err != nil {
		return nil, errors.Join(interrupted(ctx, err), group.Close())
	}
	return &running{subject: s.Subject, group: group, process: process, began: began, addr: net.JoinHostPort(params.Host, strconv.Itoa(params.Port)),
		load: r.site.load, shared: r.site.shared}, nil
}

// interrupted is the end of ctx where that is what an error comes from.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// blame turns an error of a trial, or the loss of connections in it, into the subject's death where
// that was the cause. Its connections break before the news of its end comes: it is waited for.
func (s *running) blame(ctx context.Context, t *result.Trial, err error) error {
	lost := len(beginning(result.LoadError, t.FailedBecause)) > 0 || t.HTTP != nil && len(t.HTTP.Errors) > 0
	if err == nil && !lost || s.process == nil || ctx.Err() != nil {
		return interrupted(ctx, err)
	}
	patience := time.NewTimer(deathNews)
	defer patience.Stop()
	select {
	case <-s.process.Done():
		return s.death()
	case <-patience.C:
		return err
	}
}

// death is the error of a subject that ended by itself, nil while it runs.
func (s *running) death() error {
	if why := s.process.Err(); why != nil {
		return fmt.Errorf("lab: the subject %s ended in mid-run: %w: run it alone, as weir lab check %s does, to see why", s.subject.Name, why, s.subject.Name)
	}
	return nil
}

// end stops the subject of a trial that came to err, and removes its group. A server that ends
// badly when it is told to is noted in the trial, whose figures were complete by then; only what
// leaves processes behind is an error.
func (s *running) end(t *result.Trial, err error) error {
	if s.process == nil {
		return err
	}
	if err == nil {
		err = s.death()
	}
	if bad := s.process.Stop(); bad != nil && err == nil {
		t.EndedBadly = bad.Error()
	}
	return errors.Join(err, s.group.Close(), s.onStack.close())
}

func (s *running) cpu() (time.Duration, error) {
	if s.group == nil {
		return 0, nil
	}
	return s.group.CPU()
}

// unread is how many bytes have arrived for the subject that it has not read, 0 where nobody can
// tell.
func (s *running) unread() int64 {
	if s.process == nil {
		return 0
	}
	return s.process.Unread()
}

// collector is what the Go collector did in a window in which the subject used so much CPU; nil for
// other languages. The times in the collector's lines are since the start of the process that wrote
// them, so those of later processes seem to come earlier than they did, and some fall out of the
// window.
func (s *running) collector(from, to, cpu time.Duration) *result.GC {
	if s.subject.Language != "Go" {
		return nil
	}
	gc := sample.SummariseGC(sample.ParseGC(s.process.Stderr()), from-s.began, to-s.began, cpu)
	return &gc
}

// isHere says whether the host of HOST:PORT is this machine. One whose name nobody knows is not.
func isHere(ctx context.Context, addr string) bool {
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
