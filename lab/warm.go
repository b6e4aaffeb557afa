package lab

import (
	"context"
	"fmt"
	"math"
	"time"

	"weir/lab/agent"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/stat"
	"weir/lab/workload"
)

const (
	warmMinSteps  = 5                // progress reports
	progressEvery = time.Second / 20 // interval of progress reports
	warmMaxFactor = 2                // times the least warm-up,
	// plus so many progress reports; after that the subject is measured as it is
	warmMaxSteps   = 90
	warmGrace      = time.Minute      // limit beyond twice the expected time of the messages
	stalledAfter   = 10 * time.Second // without a message taken,
	stalledPeriods = 20               // and without so many messages of a connection that sends
)

// warming is a warm-up in progress, as a pure function of the times of progress reports.
type warming struct {
	neededMessages int64         // messages that the subject asks for
	stallTimeout   time.Duration // time without progress after which it fails
	timeLimit      time.Duration // time limit of the whole
	// limit on progress reports after the least; -1: as many as the values need
	extraSteps int

	// CLOCK_MONOTONIC; lastProgressAt: a message was last taken
	startedAt, lastProgressAt time.Duration
	sentMessages              int64
	cpu                       time.Duration // CPU of the subject so far
	values                    []float64     // CPU per message between progress reports, us
	// length of values when the subject had received the messages that it asks for; 0: not yet
	leastSteps int
	steady     bool // the values are at a steady level
}

// newWarming starts a warm-up. most is Settings.WarmLimit.
func newWarming(need int64, l workload.Load, connections int, most, now, cpu time.Duration) *warming {
	w := &warming{neededMessages: need, stallTimeout: stalledAfter, timeLimit: warmGrace, extraSteps: -1, startedAt: now, lastProgressAt: now, cpu: cpu}
	if most > 0 {
		w.extraSteps = int((most - shortestWarmUp) / progressEvery)
	}
	if rate := l.Shared().Rate; rate > 0 && connections > 0 {
		w.stallTimeout = max(w.stallTimeout, seconds(stalledPeriods/rate))
	}
	w.timeLimit += 2 * warmTime(need, l, connections)
	return w
}

// warmTime returns how long a load takes for the given number of messages.
func warmTime(messages int64, l workload.Load, connections int) time.Duration {
	return seconds(float64(messages) / l.MessageRate(connections))
}

// expectedWarmUp returns about the shortest time of a subject's warm-up.
func (r *Runner) expectedWarmUp(subject string, l workload.Load, connections int) time.Duration {
	switch {
	case l.Shared().Cold:
		return 0
	case l.WarmUp() > 0:
		return l.WarmUp()
	}
	return warmTime(int64(r.subjects[subject].WarmMessages), l, connections)
}

// seconds converts s to a duration of at most a year.
func seconds(s float64) time.Duration {
	return time.Duration(math.Min(s, 365*24*3600) * float64(time.Second))
}

// addProgress takes a progress report: the messages and the subject's CPU so far. An error is a
// failure of the subject.
func (w *warming) addProgress(now time.Duration, sent int64, cpu time.Duration) (enough bool, err error) {
	if sent > w.sentMessages {
		w.values = append(w.values, us(cpu-w.cpu)/float64(sent-w.sentMessages))
		w.sentMessages, w.cpu, w.lastProgressAt = sent, cpu, now
		if w.leastSteps == 0 && sent >= w.neededMessages && len(w.values) >= warmMinSteps {
			w.leastSteps = len(w.values)
		}
		if w.leastSteps > 0 {
			_, w.steady = stat.FindSteadyStart(w.values)
		}
	}
	late := now-w.startedAt > w.timeLimit
	switch {
	case now-w.lastProgressAt > w.stallTimeout:
		return false, failure(fmt.Sprintf("stalled in the warm-up: no message was taken for %v: the subject does not read, or does not accept connections", w.stallTimeout))
	case late && w.sentMessages < w.neededMessages:
		return false, failure(fmt.Sprintf("slow in the warm-up: took %d messages in %v and asks for %d", w.sentMessages, w.timeLimit.Round(time.Second), w.neededMessages))
	}
	return w.leastSteps > 0 && (late || len(w.values) >= w.maxSteps()), nil
}

// maxSteps returns the number of progress reports that the warm-up takes, by its values and the
// limit.
func (w *warming) maxSteps() int {
	if w.steady {
		return w.leastSteps
	}
	n := warmMaxFactor*w.leastSteps + warmMaxSteps
	if w.extraSteps >= 0 {
		n = min(n, w.leastSteps+w.extraSteps)
	}
	return n
}

// warmFor runs the load for a fixed time.
func warmFor(ctx context.Context, g *generator, s *workload.Running, d time.Duration, t *result.Trial) error {
	first, err := s.CPU()
	if err != nil {
		return err
	}
	var sent int64
	until := time.Now().Add(d)
	for time.Now().Before(until) && err == nil {
		var ev agent.Event
		if ev, err = g.awaitEvent(ctx, "progress", eventTimeout); err == nil {
			sent = ev.Sent
		}
	}
	if cpu, bad := s.CPU(); bad == nil && sent > 0 {
		t.WarmMessages, t.ColdUSPerMsg = sent, us(cpu-first)/float64(sent)
	}
	return err
}

// warmUntilSteady runs the load until the subject has received the messages that it asks for and
// its CPU per message is steady. The cost of the warm-up is stored as the cold figure. A subject
// that does not become steady is measured as it is, and the trial records that.
func (r *Runner) warmUntilSteady(ctx context.Context, g *generator, s *workload.Running, l workload.Load, t *result.Trial) error {
	first, err := s.CPU()
	if err != nil {
		return err
	}
	w := newWarming(int64(s.Subject.WarmMessages), l, t.Connections, time.Duration(r.experiment.WarmLimit), sample.Monotonic(), first)
	err = g.eachEvent(ctx, eventTimeout, func(ev agent.Event) (bool, error) {
		if ev.Event != "progress" {
			return false, nil
		}
		cpu, err := s.CPU()
		if err != nil {
			return false, err
		}
		return w.addProgress(sample.Monotonic(), ev.Sent, cpu)
	})
	err = g.withErrors(ctx, err)
	if w.sentMessages > 0 {
		t.WarmMessages, t.ColdUSPerMsg = w.sentMessages, us(w.cpu-first)/float64(w.sentMessages)
	}
	t.Unsteady = err == nil && !w.steady
	return err
}

// warnOfWarmUps reports, before the trials, that the warm-ups take longer than the measured
// windows, and which subject's takes longest. It explains a long run to the user.
func (r *Runner) warnOfWarmUps() {
	var all, windows, longest time.Duration
	var whose Place
	for _, c := range r.plan.Cells {
		for _, s := range r.plan.subjectsFor(c) {
			d := r.expectedWarmUp(s, r.loadNamed(c.Load), c.Connections)
			if d > longest {
				longest, whose = d, Place{Cell: c, Subject: s}
			}
			all, windows = all+d, windows+r.windowOf(r.loadNamed(c.Load))
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
