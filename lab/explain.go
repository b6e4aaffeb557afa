package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"weir/lab/portability"
	"weir/lab/reason"
	"weir/lab/result"
)

// explain finds out, once the trials are over, why the subjects cost what they cost: the kernel events of
// each, in a trial of its own, and the price of a switch. What cannot be had on this machine is left out of
// the results, with the reason beside the skipped subjects.
func (r *Runner) explain(ctx context.Context) error {
	if !r.options.Reasons {
		return nil
	}
	for _, s := range r.results.Subjects {
		if err := r.countEvents(ctx, s); err != nil {
			return err
		}
	}
	r.progress(Progress{Phase: "measuring", What: "the price of a switch", CPU: -1})
	costs, err := reason.SwitchCosts(ctx)
	if err != nil {
		r.leaveOut("switch costs", err)
	}
	r.results.SwitchCosts = costs
	return ctx.Err()
}

// countEvents counts a subject's system calls, wake-ups and switches at the plan's largest load.
func (r *Runner) countEvents(ctx context.Context, s result.Subject) error {
	if s.Elsewhere || r.hasReasons(s.Name) {
		return nil
	}
	p := Place{Cell: Cell{r.experiment.Loads[0].Name, slices.Max(r.experiment.Connections), r.experiment.Patterns[0]}, Subject: s.Name}
	r.progress(Progress{Phase: "counting the system calls of", What: s.Name, CPU: -1})
	var counts reason.Counts
	var cannot error
	t, err := r.trial(ctx, p, r.load(p.Load), func(s *running) (func() error, error) {
		var w *reason.Watch
		if w, cannot = reason.Start(s.group); cannot != nil {
			return func() error { return nil }, nil
		}
		return func() (err error) {
			counts, err = w.Stop()
			return err
		}, nil
	})
	switch {
	case err != nil:
		return err
	case cannot != nil:
		r.leaveOut("reasons of "+s.Name, cannot)
		return nil
	}
	found := counts.Per(t.Messages)
	found.Subject, found.Connections, found.Pattern = p.Subject, p.Connections, p.Pattern
	r.results.Reasons = append(r.results.Reasons, found)
	return nil
}

func (r *Runner) hasReasons(subject string) bool {
	return slices.ContainsFunc(r.results.Reasons, func(x result.Reasons) bool { return x.Subject == subject })
}

// portability builds and tests the C subjects with what is at hand, before the trials: it is building. Its findings are kept between runs and
// found again unless something changed.
func (r *Runner) portability(ctx context.Context) {
	if !r.options.Reasons {
		return
	}
	found, err := portability.Run(ctx, r.options.Root, portability.Options{Doing: func(what string) {
		r.progress(Progress{Phase: "testing", What: what, CPU: -1})
	}})
	if err != nil && !errors.Is(err, context.Canceled) {
		r.leaveOut("portability", err)
	}
	r.results.Portability = found
}

// leaveOut says in the results what they lack, and why.
func (r *Runner) leaveOut(what string, why error) {
	r.results.Skipped = append(r.results.Skipped, result.Skip{Subject: what, Reason: fmt.Sprint(why)})
}
