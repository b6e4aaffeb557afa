package lab

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"weir/lab/load"
	"weir/lab/result"
)

// maxAttempts is how often a place is tried before the run goes on without it.
const maxAttempts = 3

// Evidence is what a trial saw beside its own figures, from which it is judged.
type Evidence struct {
	Window       time.Duration
	Steal        time.Duration // taken by the hypervisor, all cores
	Neighbour    time.Duration // CPU that processes outside the trial used, all cores
	NeighbourWho string        // the one that used most of it
	Lab          time.Duration // CPU of this process itself
	Shared       bool          // generator and subject stand on the same cores
	// the subject is on this machine, and nobody knows which processes are its
	Here bool
	// bytes that had arrived for the subject and that it had not read when the window was over
	Unread int64
	Errors map[string]int64 // what the generator found wrong, by kind
	Cores  int              // that the subject could use; 0 where its CPU is not known
}

// limits on how late a generator may be. They depend on the arrival pattern, because a burst of 64
// messages takes its time even from a generator that is exactly on time.
type limits struct{ latenessP99, latenessP50 time.Duration }

var patternLimits = map[string]limits{
	load.Staggered: {latenessP99: 1 * time.Millisecond, latenessP50: 100 * time.Microsecond},
	load.Poisson:   {latenessP99: 1 * time.Millisecond, latenessP50: 150 * time.Microsecond},
	load.Together:  {latenessP99: 4 * time.Millisecond, latenessP50: 2 * time.Millisecond},
}

// apart is how far the limits grow with the connections where messages do not come together.
var apart = limits{latenessP99: 5 * time.Millisecond, latenessP50: time.Millisecond}

const (
	perSend     = 10 * time.Microsecond // of a burst over more than 64 connections
	minAchieved = 0.999
	maxBehind   = 0.001 // of the messages
	maxRunQueue = 0.05  // of the window: the generator ready, but not running
	// of the connections of a closed loop, on average: the rest wait for the generator
	minAnswering = 0.9
	maxSteal     = 0.01 // of the window, of one core
	maxNeighbour = 0.05 // of the window, of one core; for the lab itself too
	maxUnread    = 0.1  // of the window's bytes,
	maxQueued    = 4    // and of messages a connection
)

// settled says whether the place of t needs no further trial: t may count, or the subject failed in
// it, which a better try would not undo, or it was the last try.
func settled(t *result.Trial) bool {
	return t.Accepted || len(t.FailedBecause) > 0 || t.Attempt >= maxAttempts
}

// decide judges a trial. What spoiled the measurement refuses it. What the subject did wrong is its
// failure; but that it did not keep up is one only where nothing else was wrong: on a disturbed
// machine it is part of the refusal.
func decide(t *result.Trial, ev Evidence) {
	wrong, slow := failures(t, ev)
	spoiled := refusals(t, ev, len(wrong)+len(slow) > 0)
	if len(spoiled) > 0 {
		spoiled = append(spoiled, slow...)
	} else {
		wrong = append(wrong, slow...)
	}
	t.RefusedBecause, t.FailedBecause = append(t.RefusedBecause, spoiled...), append(t.FailedBecause, wrong...)
	t.Accepted = len(t.RefusedBecause)+len(t.FailedBecause) == 0
}

// findings collects sentences.
type findings []string

func (f *findings) add(when bool, format string, args ...any) {
	if when {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// failures says what the subject did wrong, and where it only did not keep up.
func failures(t *result.Trial, ev Evidence) (wrong, slow findings) {
	if t.HTTP != nil {
		return requestFailures(t, ev)
	}
	for _, kind := range slices.Sorted(maps.Keys(ev.Errors)) {
		to := &wrong
		// within the time that echoes and deliveries are given
		if kind == "echo missing" || kind == "missing" {
			to = &slow
		}
		to.add(true, result.LoadError+": %s, %d times", kind, ev.Errors[kind])
	}
	slow.add(float64(t.Behind) > maxBehind*float64(t.Messages), "did not carry the load: %d of %d messages found their connection full", t.Behind, t.Messages)
	queued := int64(maxQueued*t.Connections) * t.Bytes / max(t.Messages, 1)
	slow.add(float64(ev.Unread) > maxUnread*float64(t.Bytes) && ev.Unread > queued, "did not read: %d bytes were waiting when the window was over, in which %d were sent", ev.Unread, t.Bytes)
	return wrong, slow
}

// refusals says what spoiled a measurement. Messages that a failing subject did not take are late,
// or not sent at all, by no fault of the generator, which is not judged by them then. The limits on
// lateness are relaxed sixteenfold where generator and subject share their cores, since then each
// is late by the other's work. How many requests are answered is the subject's, and their lateness
// is that of those whose connection was free.
func refusals(t *result.Trial, ev Evidence, failing bool) []string {
	var why findings
	l := limitsFor(t, ev.Shared)
	failing = failing || t.Pattern == result.Closed // which has no schedule to be late for
	share := func(d time.Duration) float64 { return float64(d) / float64(ev.Window) }
	why.add(!failing && t.HTTP == nil && t.AchievedRatio < minAchieved, result.LoadShort+": %.2f %% of the offered messages were sent", 100*t.AchievedRatio)
	why.add(!failing && t.LatenessUS.P50 > us(l.latenessP50), result.GeneratorLate+": median %.0f us, limit %.0f us", t.LatenessUS.P50, us(l.latenessP50))
	why.add(!failing && t.LatenessUS.P99 > us(l.latenessP99), result.GeneratorLate+": 99th percentile %.0f us, limit %.0f us", t.LatenessUS.P99, us(l.latenessP99))
	why.add(ev.Errors[ownKind] > 0, "generator without ports or descriptors: %d times", ev.Errors[ownKind])
	why.add(t.HTTP != nil && generatorGaveOut(t, ev), result.GeneratorGaveOut+": it used or waited for %.0f %% of a core, and the subject had CPU to spare", loadPercent(t))
	why.add(loopIsTheGenerators(t, ev), result.GeneratorGaveOut+": in a closed loop it used or waited for %.0f %% of a core, and the subject had CPU to spare", loadPercent(t))
	why.add(t.HTTP != nil && t.Pattern == result.Closed && answering(t) < minAnswering, result.GeneratorGaveOut+": requests were with the subject for at most %.0f %% of the time of the connections (Little's law)", 100*answering(t))
	why.add(t.LoadRunQueue > maxRunQueue && !ev.Shared, "generator waited %.1f %% of the window for its core", 100*t.LoadRunQueue)
	why.add(share(ev.Steal) > maxSteal, result.HypervisorTook+" %.1f %% of a core", 100*share(ev.Steal))
	why.add(share(ev.Neighbour) > maxNeighbour && !ev.Here, result.NeighbourTook+" %.1f %% of a core: %s", 100*share(ev.Neighbour), ev.NeighbourWho)
	why.add(share(ev.Lab) > maxNeighbour, result.LabTook+" %.1f %% of a core", 100*share(ev.Lab))
	return why
}

// limitsFor widens a pattern's limits for many connections. A burst grows with them: it cannot be
// sent at once. Messages that come apart are late only by what the generator does between them,
// however many connections they are on.
func limitsFor(t *result.Trial, shared bool) limits {
	l := patternLimits[t.Pattern]
	if shared {
		l.latenessP50, l.latenessP99 = 16*l.latenessP50, 16*l.latenessP99
	}
	more := time.Duration(max(0, t.Connections-64)) * perSend
	wide := limits{latenessP99: l.latenessP99 + more, latenessP50: l.latenessP50 + more}
	if t.Pattern != load.Together {
		wide.latenessP99 = min(wide.latenessP99, max(l.latenessP99, apart.latenessP99))
		wide.latenessP50 = min(wide.latenessP50, max(l.latenessP50, apart.latenessP50))
	}
	return wide
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
