package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
)

// CommonCell returns the first cell with the most connections in which all of the subjects take
// part.
func (r *Runner) CommonCell(subjects ...string) (best workload.Cell, ok bool) {
	for _, c := range r.plan.Cells {
		if (!ok || c.Load == best.Load && c.Connections > best.Connections) && containsAll(r.plan.subjectsFor(c), subjects) {
			best, ok = c, true
		}
	}
	return best, ok
}

// ObserveTrial runs a trial of its own, which is not part of the results. prepare may change the
// subject for this trial. during is called shortly before the measured window, and the function
// that it returned right after it, with the CLOCK_MONOTONIC time of the window's start. It is
// called on the Runner's goroutine, and not during Run.
func (r *Runner) ObserveTrial(ctx context.Context, p Place, prepare func(*subject.Subject), during func(*workload.Running) (func(time.Duration) error, error)) (result.Trial, error) {
	l, before := r.loadNamed(p.Load), r.subjects[p.Subject]
	if l.Alone() {
		return result.Trial{}, fmt.Errorf("lab: under the load %s a subject measures itself, so it cannot be observed: choose another load", p.Load)
	}
	if before.Target == "" {
		changed := *before.Subject
		prepare(&changed)
		r.subjects[p.Subject] = contender{Subject: &changed}
		defer func() { r.subjects[p.Subject] = before }()
	}
	r.progress(Progress{Phase: "profiling", What: p.Subject, CPU: noCPU})
	return r.trial(ctx, p, l, during)
}

func containsAll(all, some []string) bool {
	for _, s := range some {
		if !slices.Contains(all, s) {
			return false
		}
	}
	return true
}
