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

// explain measures, after the trials, why the subjects cost what they cost. It counts the kernel
// events of each subject in separate trials and measures the cost of a context switch. If a value
// cannot be measured, a note in the results gives the reason.
func (r *Runner) explainCosts(ctx context.Context) error {
	if !r.options.Reasons {
		return nil
	}
	for _, s := range r.results.Subjects {
		if err := r.countEvents(ctx, s); err != nil {
			return err
		}
	}
	if len(r.results.SwitchCosts) > 0 {
		return nil // measured before the run was interrupted
	}
	r.progress(Progress{Phase: "measuring", What: "the cost of a context switch", CPU: -1})
	r.forget("switch costs", "")
	costs, err := reason.SwitchCosts(ctx)
	if err != nil {
		r.leaveOut("switch costs", "", err)
	}
	r.results.SwitchCosts = costs
	return ctx.Err()
}

// countEvents counts a subject's system calls, wake-ups and context switches at the plan's largest
// number of connections, under each arrival pattern. Where the ranking of subjects depends on the
// pattern, these counts show why.
func (r *Runner) countEvents(ctx context.Context, s result.Subject) error {
	if s.Elsewhere {
		return nil
	}
	r.forget("system calls", s.Name)
	for _, pattern := range r.experiment.Patterns {
		p, ok := r.reasonPlace(pattern, s.Name)
		if !ok || r.hasReasons(p) {
			continue
		}
		r.progress(Progress{Phase: "counting the system calls of", What: s.Name + ", " + pattern, CPU: -1})
		found, err := r.countReasons(ctx, p)
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

// reasonPlace returns where a subject's events are counted under a pattern: the first load with
// that pattern that the subject meets, with the most connections.
func (r *Runner) reasonPlace(pattern, subject string) (Place, bool) {
	for _, l := range r.experiment.Loads {
		c := Cell{l.Name, slices.Max(r.experiment.connectionsOf(l)), pattern}
		if slices.Contains(r.experiment.patternsOf(l), pattern) && slices.Contains(r.plan.subjectsFor(c), subject) {
			return Place{Cell: c, Subject: subject}, true
		}
	}
	return Place{}, false
}

// countReasons runs a trial whose subject is traced. Its CPU figures are not used.
func (r *Runner) countReasons(ctx context.Context, p Place) (result.Reasons, error) {
	var counts reason.Counts
	var ahead time.Duration // from the start of counting to the start of the window
	l := r.loadNamed(p.Load)
	t, err := r.trial(ctx, p, l, func(s *running) (func(time.Duration) error, error) {
		w, err := reason.Start(s.group)
		began := sample.Monotonic()
		return func(window time.Duration) (err error) {
			ahead = window - began
			counts, err = w.Stop()
			return err
		}, err
	})
	// tracing slows the subject down: the counts are valid even if the trial is not
	wrong := slices.Concat(t.FailedBecause, t.RejectedBecause)
	if err == nil && t.Messages == 0 {
		err = errors.New(strings.Join(append(wrong, "nothing was measured"), "; "))
	}
	if err != nil {
		return result.Reasons{}, err
	}
	found := counts.Per(t.Messages + sentAhead(&t, l, ahead))
	found.Subject, found.Connections, found.Pattern = p.Subject, p.Connections, p.Pattern
	if len(wrong) > 0 {
		found.Note = strings.TrimPrefix(found.Note+"; the traced trial itself would be rejected: "+wrong[0], "; ")
	}
	return found, nil
}

// sentAhead returns how many messages were sent in the given time before the window of t. The
// generator keeps its rate from the first message on, and starts the window with a burst where the
// pattern is load.Together.
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

// checkPortability builds and tests the C subjects with the compilers and machines at hand. It runs
// before the trials, because building would disturb them. Findings are cached between runs and
// reused if nothing changed.
func (r *Runner) checkPortability(ctx context.Context) {
	// the subjects in C are neither web nor chat servers
	if !r.options.Reasons || r.experiment.patternsFromLoads() {
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

// leaveOut adds a note that the results lack something, for one subject or (if empty) for all.
func (r *Runner) leaveOut(what, subject string, why error) {
	reason := strings.ReplaceAll(fmt.Sprint(why), "\n", "; ")
	r.results.Notes = append(r.results.Notes, result.Note{What: what, Subject: subject, Reason: reason})
}

// forget removes the note of an interrupted run about something that is tried again.
func (r *Runner) forget(what, subject string) {
	r.results.Notes = slices.DeleteFunc(r.results.Notes, func(n result.Note) bool { return n.What == what && n.Subject == subject })
}
