package lab

import (
	"context"
	"fmt"
	"math"
	"time"

	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/stat"
)

const (
	warmMinSteps  = 5                // pieces of progress
	progressEvery = time.Second / 20 // a piece of progress
	warmMaxFactor = 2                // times the least warm-up,
	// and so many pieces of progress, then it is measured as it is
	warmMaxSteps   = 90
	warmGrace      = time.Minute      // beyond twice the time that the messages take
	stalledAfter   = 10 * time.Second // without a message taken,
	stalledPeriods = 20               // and without so many of a connection that sends
)

// warming is a warm-up under way, as a pure function of the times at which it is told of progress.
type warming struct {
	need     int64         // messages that the subject asks for
	patience time.Duration // without progress
	limit    time.Duration // of the whole
	// pieces of progress after the least, at most; -1: what the values ask for
	further int

	began, grew time.Duration // CLOCK_MONOTONIC; grew is when a message was last taken
	sent        int64
	cpu         time.Duration // of the subject so far
	values      []float64     // CPU per message between pieces of progress, us
	least       int           // of these, when the subject had had what it asks for
	settled     bool          // the values show a steady level
}

// newWarming begins a warm-up. Most is Settings.WarmLimit.
func newWarming(need int64, l Load, connections int, most, now, cpu time.Duration) *warming {
	w := &warming{need: need, patience: stalledAfter, limit: warmGrace, further: -1, began: now, grew: now, cpu: cpu}
	if most > 0 {
		w.further = int((most - shortestWarmUp) / progressEvery)
	}
	if l.Rate > 0 && connections > 0 {
		w.patience = max(w.patience, seconds(stalledPeriods/l.Rate))
	}
	w.limit += 2 * warmTime(need, l, connections)
	return w
}

// warmTime is how long a load takes for so many messages.
func warmTime(messages int64, l Load, connections int) time.Duration {
	return seconds(float64(messages) / l.perSecond(connections))
}

// warmUp is about how long a subject's warm-up takes at least.
func (r *Runner) warmUp(subject string, l Load, connections int) time.Duration {
	switch {
	case l.Cold:
		return 0
	case l.Operation != "":
		return stackWarm
	}
	return warmTime(int64(r.subjects[subject].WarmMessages), l, connections)
}

// seconds is a duration of at most a year.
func seconds(s float64) time.Duration {
	return time.Duration(math.Min(s, 365*24*3600) * float64(time.Second))
}

// see takes a piece of progress: the messages and the subject's CPU so far. A failure is the
// subject's.
func (w *warming) see(now time.Duration, sent int64, cpu time.Duration) (enough bool, err error) {
	if sent > w.sent {
		w.values = append(w.values, us(cpu-w.cpu)/float64(sent-w.sent))
		w.sent, w.cpu, w.grew = sent, cpu, now
		if w.least == 0 && sent >= w.need && len(w.values) >= warmMinSteps {
			w.least = len(w.values)
		}
		if w.least > 0 {
			_, w.settled = stat.Steady(w.values)
		}
	}
	late := now-w.began > w.limit
	switch {
	case now-w.grew > w.patience:
		return false, failure(fmt.Sprintf("stalled in the warm-up: took nothing for %v: it does not read, or does not accept", w.patience))
	case late && w.sent < w.need:
		return false, failure(fmt.Sprintf("slow in the warm-up: took %d messages in %v and asks for %d", w.sent, w.limit.Round(time.Second), w.need))
	}
	return w.least > 0 && (late || len(w.values) >= w.most()), nil
}

// most is the pieces of progress that the warm-up takes, by what its values show, within the limit.
func (w *warming) most() int {
	if w.settled {
		return w.least
	}
	n := warmMaxFactor*w.least + warmMaxSteps
	if w.further >= 0 {
		n = min(n, w.least+w.further)
	}
	return n
}

// warm lets the load run until the subject has had the messages that it needs and its CPU per
// message has stopped changing; what the warm-up cost is kept as the cold figure. One that never
// settles is measured as it is, and the trial says so.
func (r *Runner) warm(ctx context.Context, g *generator, s *running, l Load, t *result.Trial) error {
	if r.experiment.stack() {
		return r.warmStack(ctx, g, s, l, t)
	}
	first, err := s.cpu()
	if err != nil {
		return err
	}
	w := newWarming(int64(s.subject.WarmMessages), l, t.Connections, time.Duration(r.experiment.WarmLimit), sample.Monotonic(), first)
	err = g.each(ctx, sayLimit, func(ev generatorEvent) (bool, error) {
		if ev.Event != "progress" {
			return false, nil
		}
		cpu, err := s.cpu()
		if err != nil {
			return false, err
		}
		return w.see(sample.Monotonic(), ev.Sent, cpu)
	})
	if w.sent > 0 {
		t.WarmMessages, t.ColdUSPerMsg = w.sent, us(w.cpu-first)/float64(w.sent)
	}
	t.Unsteady = err == nil && !w.settled
	return err
}

// warnOfWarmUps says beforehand that the warm-ups will take longer than the measured windows, and
// whose takes longest: whoever waits would not know why.
func (r *Runner) warnOfWarmUps() {
	var all, windows, longest time.Duration
	var whose Place
	for _, c := range r.plan.Cells {
		for _, s := range r.plan.meeting(c) {
			d := r.warmUp(s, r.load(c.Load), c.Connections)
			if d > longest {
				longest, whose = d, Place{Cell: c, Subject: s}
			}
			all, windows = all+d, windows+r.windowOf(r.load(c.Load))
		}
	}
	if all <= windows {
		return
	}
	r.progress(Progress{Phase: "warm-ups:", CPU: -1, What: fmt.Sprintf("they take longer than what is measured: %s asks for %d %s, which on %s take %v a trial",
		whose.Subject, r.subjects[whose.Subject].WarmMessages, r.experiment.units(), connections(whose.Connections), longest.Round(time.Second))})
}

func connections(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}
