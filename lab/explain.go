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
	"weir/lab/workload"
)

// A cell is a load, a number of connections and an arrival pattern (when the generator sends its
// messages); a Place is a cell with a subject, the server under test. A trial is one run of a
// subject in a cell. The generator sends before, during and after the trial's window, the time in
// which it counts the messages.

// noCPU is the CPU of a Progress without a running trial.
const noCPU = -1

// explainCosts measures, after the trials, what explains the subjects' CPU. It counts the kernel
// events of each subject (system calls, wake-ups, context switches) in separate trials, and
// measures the cost of a context switch. If a value cannot be measured, a note in the results says
// why.
func (r *Runner) explainCosts(ctx context.Context) error {
	if !r.options.CountEvents {
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
	r.progress(Progress{Phase: "measuring", What: "the cost of a context switch", CPU: noCPU})
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
	if s.Elsewhere || s.Beside { // the lab did not start it, so it cannot trace it
		return nil
	}
	r.removeNote("system calls", s.Name)
	for _, pattern := range r.experiment.Patterns {
		p, ok := r.eventCell(pattern, s.Name)
		if !ok || r.hasEventCounts(p) {
			continue
		}
		r.progress(Progress{Phase: "counting the system calls of", What: s.Name + ", " + pattern, CPU: noCPU})
		found, err := r.runTracedTrial(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.noteMissing("system calls", s.Name, err)
			return nil
		}
		r.results.EventCounts = append(r.results.EventCounts, found)
	}
	return nil
}

// eventCell returns the cell in which a subject's events are counted under a pattern. It is the
// first load of the experiment that has the pattern and includes the subject, at that load's
// largest number of connections.
func (r *Runner) eventCell(pattern, subject string) (Place, bool) {
	for _, l := range r.experiment.Loads {
		c := workload.Cell{Load: l.Shared().Name, Connections: slices.Max(r.experiment.connectionsOf(l)), Pattern: pattern}
		if slices.Contains(r.experiment.patternsOf(l), pattern) && slices.Contains(r.plan.subjectsFor(c), subject) {
			return Place{Cell: c, Subject: subject}, true
		}
	}
	return Place{}, false
}

// runTracedTrial runs a trial whose subject is traced, and returns the events per message. The CPU
// figures of the trial are not used. Tracing starts before the measured window and stops after it.
func (r *Runner) runTracedTrial(ctx context.Context, p Place) (result.EventCounts, error) {
	var counts reason.Counts
	var ahead time.Duration // from the start of tracing to the start of the measured window
	l := r.loadNamed(p.Load)
	// the outer function is called before the measured window, the inner one after it
	t, err := r.trial(ctx, p, l, func(s *workload.Running) (func(time.Duration) error, error) {
		watch, err := reason.Start(s.Group)
		tracedFrom := sample.Monotonic()
		return func(windowStart time.Duration) (err error) { // a reading of sample.Monotonic, too
			ahead = windowStart - tracedFrom
			counts, err = watch.Stop()
			return err
		}, err
	})
	// Tracing slows the subject down. So the counts are used even if the subject failed in the
	// trial (FailedBecause), or the trial is rejected (RejectedBecause); a note says so.
	faults := slices.Concat(t.FailedBecause, t.RejectedBecause)
	if err == nil && t.Messages == 0 {
		err = errors.New(strings.Join(append(faults, "nothing was measured"), "; "))
	}
	if err != nil {
		return result.EventCounts{}, err
	}
	found := counts.Per(t.Messages + sentAhead(&t, l.Shared().Rate, ahead))
	found.Subject, found.Connections, found.Pattern = p.Subject, p.Connections, p.Pattern
	if len(faults) > 0 {
		found.Note = strings.TrimPrefix(found.Note+"; the traced trial itself was rejected or failed: "+faults[0], "; ")
	}
	return found, nil
}

// sentAhead returns how many messages the generator sent in the time ahead, just before the
// measured window of t. The generator has the same rate before the window as in it. So the number
// is that rate times ahead, with an exception: under load.Together with a rate, the generator sends
// rate bursts a second, each of one message per connection, and the window starts with a burst.
// Then the number is that of the whole bursts in ahead, because a burst is sent completely or not.
func sentAhead(t *result.Trial, rate float64, ahead time.Duration) int64 {
	if t.Pattern == load.Together && rate > 0 {
		return int64(ahead.Seconds()*rate) * int64(t.Connections)
	}
	return int64(ahead.Seconds() * float64(t.Messages) / max(t.WindowS, 0.001))
}

// hasEventCounts reports whether the results have the event counts of a cell, as after an
// interrupted run.
func (r *Runner) hasEventCounts(p Place) bool {
	return slices.ContainsFunc(r.results.EventCounts, func(x result.EventCounts) bool {
		return x.Subject == p.Subject && x.Connections == p.Connections && x.Pattern == p.Pattern
	})
}

// checkPortability builds and tests the C subjects with each compiler that is installed, for this
// machine's architecture and for others of which an emulator is installed. It runs before the
// trials, because building would disturb them. Findings are stored, and reused by later runs if
// nothing changed. It does nothing unless Options.CountEvents is set.
func (r *Runner) checkPortability(ctx context.Context) {
	if !r.options.CountEvents || !r.experiment.kind().Traits().TestsPortability {
		return
	}
	r.removeNote("portability", "")
	found, err := portability.Run(ctx, r.options.Root, portability.Options{Kinds: ContractKinds(), Doing: func(what string) {
		r.progress(Progress{Phase: "testing", What: what, CPU: noCPU})
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

// removeNote removes the note that an interrupted run added about a measurement. It is called
// before the measurement is tried again.
func (r *Runner) removeNote(what, subject string) {
	r.results.Notes = slices.DeleteFunc(r.results.Notes, func(n result.Note) bool { return n.What == what && n.Subject == subject })
}
