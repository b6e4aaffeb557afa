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

// explainCosts measures, after the trials, what explains the subjects' CPU. It counts the kernel
// events of each subject (system calls, wake-ups, context switches) in separate trials, and
// measures the cost of a context switch. In options and results these counts are called Reasons. If
// a value cannot be measured, a note in the results gives the reason.
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
	r.removeNote("switch costs", "")
	costs, err := reason.SwitchCosts(ctx)
	if err != nil {
		r.noteMissing("switch costs", "", err)
	}
	r.results.SwitchCosts = costs
	return ctx.Err()
}

// countEvents counts a subject's kernel events in one cell for each arrival pattern: see eventCell.
// Where the ranking of subjects depends on the pattern, these counts show why.
func (r *Runner) countEvents(ctx context.Context, s result.Subject) error {
	if s.Elsewhere {
		return nil
	}
	r.removeNote("system calls", s.Name)
	for _, pattern := range r.experiment.Patterns {
		p, ok := r.eventCell(pattern, s.Name)
		if !ok || r.hasEventCounts(p) {
			continue
		}
		r.progress(Progress{Phase: "counting the system calls of", What: s.Name + ", " + pattern, CPU: -1})
		found, err := r.runTracedTrial(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.noteMissing("system calls", s.Name, err)
			return nil
		}
		r.results.Reasons = append(r.results.Reasons, found)
	}
	return nil
}

// eventCell returns the cell in which a subject's events are counted under a pattern. It is the
// first load of the experiment that has the pattern and includes the subject, at that load's
// largest number of connections.
func (r *Runner) eventCell(pattern, subject string) (Place, bool) {
	for _, l := range r.experiment.Loads {
		c := Cell{l.Name, slices.Max(r.experiment.connectionsOf(l)), pattern}
		if slices.Contains(r.experiment.patternsOf(l), pattern) && slices.Contains(r.plan.subjectsFor(c), subject) {
			return Place{Cell: c, Subject: subject}, true
		}
	}
	return Place{}, false
}

// runTracedTrial runs a trial whose subject is traced, and returns the events per message. The CPU
// figures of the trial are not used. Tracing starts before the measured window and stops after it.
func (r *Runner) runTracedTrial(ctx context.Context, p Place) (result.Reasons, error) {
	var counts reason.Counts
	var ahead time.Duration // from the start of tracing to the start of the measured window
	l := r.loadNamed(p.Load)
	// the outer function is called before the measured window, the inner one after it
	t, err := r.trial(ctx, p, l, func(s *running) (func(time.Duration) error, error) {
		watch, err := reason.Start(s.group)
		tracedFrom := sample.Monotonic()
		return func(windowStart time.Duration) (err error) {
			ahead = windowStart - tracedFrom
			counts, err = watch.Stop()
			return err
		}, err
	})
	// Tracing slows the subject down. So the counts are used even if the subject failed in the
	// trial (FailedBecause), or the trial is rejected (RejectedBecause); a note says so.
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
		found.Note = strings.TrimPrefix(found.Note+"; the traced trial itself does not count: "+wrong[0], "; ")
	}
	return found, nil
}

// sentAhead returns how many messages the generator sent in the time ahead, just before the
// measured window of t. It keeps its rate from the first message on, so the rate of the window
// holds before it too. Under load.Together with a rate, it sends l.Rate bursts a second, each of
// one message per connection. The window starts with a burst, so whole bursts are before it: the
// window's mean rate would give a fraction of one.
func sentAhead(t *result.Trial, l Load, ahead time.Duration) int64 {
	if t.Pattern == load.Together && l.Rate > 0 {
		return int64(ahead.Seconds()*l.Rate) * int64(t.Connections)
	}
	return int64(ahead.Seconds() * float64(t.Messages) / max(t.WindowS, 0.001))
}

// hasEventCounts reports whether the results have the event counts of a cell, as after an
// interrupted run.
func (r *Runner) hasEventCounts(p Place) bool {
	return slices.ContainsFunc(r.results.Reasons, func(x result.Reasons) bool {
		return x.Subject == p.Subject && x.Connections == p.Connections && x.Pattern == p.Pattern
	})
}

// checkPortability builds and tests the C subjects with the compilers and machines of this host. It
// runs before the trials, because building would disturb them. Findings are cached between runs and
// reused if nothing changed. It does nothing unless the option Reasons is set.
func (r *Runner) checkPortability(ctx context.Context) {
	// experiments with web servers, chats and stacks, whose loads set the patterns, have no such C
	// subjects
	if !r.options.Reasons || r.experiment.patternsFromLoads() {
		return
	}
	r.removeNote("portability", "")
	found, err := portability.Run(ctx, r.options.Root, portability.Options{Doing: func(what string) {
		r.progress(Progress{Phase: "testing", What: what, CPU: -1})
	}})
	if err != nil && !errors.Is(err, context.Canceled) {
		r.noteMissing("portability", "", err)
	}
	r.results.Portability = found
}

// noteMissing adds a note that the results lack something (what) because of an error. It concerns
// one subject, or all if subject is empty.
func (r *Runner) noteMissing(what, subject string, why error) {
	text := strings.ReplaceAll(fmt.Sprint(why), "\n", "; ")
	r.results.Notes = append(r.results.Notes, result.Note{What: what, Subject: subject, Reason: text})
}

// removeNote removes the note that an interrupted run added about a measurement, before it is tried
// again.
func (r *Runner) removeNote(what, subject string) {
	r.results.Notes = slices.DeleteFunc(r.results.Notes, func(n result.Note) bool { return n.What == what && n.Subject == subject })
}
