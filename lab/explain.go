package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/lab/load"
	"weir/lab/portability"
	"weir/lab/reason"
	"weir/lab/result"
	"weir/lab/sample"
)

// explain finds out, once the trials are over, why the subjects cost what they cost: the kernel
// events of each, in trials of their own, and the price of a switch. What cannot be had on this
// machine, or of a subject, is left out of the results, with the reason in a note.
func (r *Runner) explain(ctx context.Context) error {
	if !r.options.Reasons {
		return nil
	}
	for _, s := range r.results.Subjects {
		if err := r.countEvents(ctx, s); err != nil {
			return err
		}
	}
	if len(r.results.SwitchCosts) > 0 {
		return nil // found before the run was interrupted
	}
	r.progress(Progress{Phase: "measuring", What: "the price of a switch", CPU: -1})
	r.forget("switch costs", "")
	costs, err := reason.SwitchCosts(ctx)
	if err != nil {
		r.leaveOut("switch costs", "", err)
	}
	r.results.SwitchCosts = costs
	return ctx.Err()
}

// countEvents counts a subject's system calls, wake-ups and switches at the plan's largest number
// of connections, under each arrival pattern: where the order of subjects turns with the pattern,
// the reason is in what each pattern makes them do.
func (r *Runner) countEvents(ctx context.Context, s result.Subject) error {
	if s.Elsewhere {
		return nil
	}
	r.forget("system calls", s.Name)
	for _, pattern := range r.experiment.Patterns {
		p, ok := r.tellingPlace(pattern, s.Name)
		if !ok || r.hasReasons(p) {
			continue
		}
		r.progress(Progress{Phase: "counting the system calls of", What: s.Name + ", " + pattern, CPU: -1})
		found, err := r.reasons(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.leaveOut("system calls", s.Name, err)
			return nil
		}
		r.results.Reasons = append(r.results.Reasons, found)
	}
	return nil
}

// tellingPlace is where a subject's events are counted under a pattern: the first load that comes
// in it and that the subject meets, with the most connections.
func (r *Runner) tellingPlace(pattern, subject string) (Place, bool) {
	for _, l := range r.experiment.Loads {
		c := Cell{l.Name, slices.Max(r.experiment.connectionsOf(l)), pattern}
		if slices.Contains(r.experiment.patternsOf(l), pattern) && slices.Contains(r.plan.meeting(c), subject) {
			return Place{Cell: c, Subject: subject}, true
		}
	}
	return Place{}, false
}

// reasons runs a trial whose subject is watched. Its CPU figures are not used.
func (r *Runner) reasons(ctx context.Context, p Place) (result.Reasons, error) {
	var counts reason.Counts
	var ahead time.Duration // from the begin of the counting to that of the window
	l := r.load(p.Load)
	t, err := r.trial(ctx, p, l, func(s *running) (func(time.Duration) error, error) {
		w, err := reason.Start(s.group)
		began := sample.Monotonic()
		return func(window time.Duration) (err error) {
			ahead = window - began
			counts, err = w.Stop()
			return err
		}, err
	})
	// being watched slows a subject down: what was counted counts
	wrong := slices.Concat(t.FailedBecause, t.RefusedBecause)
	if err == nil && t.Messages == 0 {
		err = errors.New(strings.Join(append(wrong, "nothing was measured"), "; "))
	}
	if err != nil {
		return result.Reasons{}, err
	}
	found := counts.Per(t.Messages + sentAhead(&t, l, ahead))
	found.Subject, found.Connections, found.Pattern = p.Subject, p.Connections, p.Pattern
	if len(wrong) > 0 {
		found.Note = strings.TrimPrefix(found.Note+"; elsewhere, a trial like this would not count: "+wrong[0], "; ")
	}
	return found, nil
}

// sentAhead is how many messages were sent in so much time before the window of t. The generator
// keeps its rate from the first message on, and begins the window with a burst where messages come
// together.
func sentAhead(t *result.Trial, l Load, ahead time.Duration) int64 {
	if t.Pattern == load.Together && l.Rate > 0 {
		return int64(ahead.Seconds()*l.Rate) * int64(t.Connections)
	}
	return int64(ahead.Seconds() * float64(t.Messages) / max(t.WindowS, 0.001))
}

func (r *Runner) hasReasons(p Place) bool {
	return slices.ContainsFunc(r.results.Reasons, func(x result.Reasons) bool {
		return x.Subject == p.Subject && x.Connections == p.Connections && x.Pattern == p.Pattern
	})
}

// portability builds and tests the C subjects with what is at hand, before the trials: it is
// building. Its findings are kept between runs and found again unless something changed.
func (r *Runner) portability(ctx context.Context) {
	// the subjects in C are neither web nor chat servers
	if !r.options.Reasons || r.experiment.ownPatterns() {
		return
	}
	r.forget("portability", "")
	found, err := portability.Run(ctx, r.options.Root, portability.Options{Doing: func(what string) {
		r.progress(Progress{Phase: "testing", What: what, CPU: -1})
	}})
	if err != nil && !errors.Is(err, context.Canceled) {
		r.leaveOut("portability", "", err)
	}
	r.results.Portability = found
}

// leaveOut notes in the results what they lack, of a subject or of none, and why.
func (r *Runner) leaveOut(what, subject string, why error) {
	reason := strings.ReplaceAll(fmt.Sprint(why), "\n", "; ")
	r.results.Notes = append(r.results.Notes, result.Note{What: what, Subject: subject, Why: reason})
}

// forget takes back what an interrupted run said of it: it is tried again.
func (r *Runner) forget(what, subject string) {
	r.results.Notes = slices.DeleteFunc(r.results.Notes, func(n result.Note) bool { return n.What == what && n.Subject == subject })
}
