package lab

import (
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
)

// maxAttempts limits the trials of a place (one trial of the plan, see [Place]). After that the run
// continues without it.
const maxAttempts = 3

// maxHeadlineAttempts is that limit in the headline's own blocks: a place without an accepted trial
// makes its whole block worthless.
const maxHeadlineAttempts = 6

// attemptsIn returns the limit on the trials of a place in a block.
func attemptsIn(block int) int {
	if block >= result.FirstHeadlineBlock {
		return maxHeadlineAttempts
	}
	return maxAttempts
}

// limits bound the lateness of a generator. They depend on the arrival pattern, because sending a
// burst of 64 messages takes time even if the generator starts exactly on time.
type limits struct{ latenessP99, latenessP50 time.Duration }

var patternLimits = map[string]limits{
	load.Staggered: {latenessP99: 1 * time.Millisecond, latenessP50: 100 * time.Microsecond},
	load.Poisson:   {latenessP99: 1 * time.Millisecond, latenessP50: 150 * time.Microsecond},
	load.Together:  {latenessP99: 4 * time.Millisecond, latenessP50: 2 * time.Millisecond},
}

// spreadLimits are upper bounds of the limits that limitsFor widens for many connections, in
// patterns without bursts.
var spreadLimits = limits{latenessP99: 5 * time.Millisecond, latenessP50: time.Millisecond}

const (
	// added to the limits for each connection of a burst beyond 64
	burstAllowance = 10 * time.Microsecond
	// share of the window in which the generator was runnable, but not running
	maxRunQueue = 0.05
	maxSteal    = 0.01 // share of the window, of one core
	// the unit in which the kernel counts what the hypervisor took: a difference is up to one too
	// high
	stealTick    = 10 * time.Millisecond
	maxNeighbour = 0.05 // share of the window, of one core; also the limit for the lab itself
)

// isFinal reports whether the place of t needs no further trial: t is accepted, or the subject
// failed in it, which a retry would not change, or it was the last attempt.
func isFinal(t *result.Trial) bool {
	return t.Accepted || len(t.FailedBecause) > 0 || t.Attempt >= attemptsIn(t.Block)
}

// judgeTrial accepts or rejects a trial. A disturbance of the measurement is a reason for
// rejection. A wrong answer is a failure of the subject. Not keeping up is a failure only if the
// measurement was not disturbed; on a disturbed machine it is one more reason for the rejection.
func judgeTrial(w workload.Session, t *result.Trial, ev workload.Evidence) {
	wrong, slow := w.Failures(t, ev)
	spoiled := rejections(w, t, ev, len(wrong)+len(slow) > 0)
	if len(spoiled) > 0 {
		spoiled = append(spoiled, slow...)
	} else {
		wrong = append(wrong, slow...)
	}
	t.RejectedBecause, t.FailedBecause = append(t.RejectedBecause, spoiled...), append(t.FailedBecause, wrong...)
	t.Accepted = len(t.RejectedBecause)+len(t.FailedBecause) == 0
}

// rejections returns the reasons why a measurement is not valid. Messages that a failing subject
// did not take are late or not sent at all through no fault of the generator, so its lateness is
// not judged then. The limits on lateness are 16 times wider where generator and subject share
// cores, since each delays the other.
func rejections(w workload.Session, t *result.Trial, ev workload.Evidence, failing bool) []string {
	l := limitsFor(t, ev.SharedCores)
	// A generator is late only against a schedule, which a closed loop does not have.
	judgeSchedule := !failing && t.Pattern != result.Closed
	share := func(d time.Duration) float64 { return float64(d) / float64(ev.Window) }
	why := w.Rejections(t, ev, judgeSchedule)
	why.Add(judgeSchedule && t.LatenessUS.P50 > us(l.latenessP50), result.GeneratorLate+": median %.0f us, limit %.0f us", t.LatenessUS.P50, us(l.latenessP50))
	why.Add(judgeSchedule && t.LatenessUS.P99 > us(l.latenessP99), result.GeneratorLate+": 99th percentile %.0f us, limit %.0f us", t.LatenessUS.P99, us(l.latenessP99))
	for _, a := range t.Agents {
		why.Add(judgeSchedule && (a.LatenessUS.P50 > us(l.latenessP50) || a.LatenessUS.P99 > us(l.latenessP99)),
			result.GeneratorLate+": agent %s: median %.0f us, 99th percentile %.0f us", a.Agent, a.LatenessUS.P50, a.LatenessUS.P99)
	}
	why.Add(ev.Errors[workload.GeneratorErrorKind] > 0, "generator without ports or descriptors: %d times", ev.Errors[workload.GeneratorErrorKind])
	why.Add(t.LoadRunQueue > maxRunQueue && !ev.SharedCores, "generator waited %.1f %% of the window for its core", 100*t.LoadRunQueue)
	why.Add(share(ev.Steal-stealTick) > maxSteal, result.HypervisorTook+" %.1f %% of a core", 100*share(ev.Steal))
	why.Add(share(ev.Neighbour) > maxNeighbour && !ev.ServerUnaccounted, result.NeighbourTook+" %.1f %% of a core: %s", 100*share(ev.Neighbour), ev.NeighbourName)
	why.Add(share(ev.Lab) > maxNeighbour, result.LabTook+" %.1f %% of a core", 100*share(ev.Lab))
	return why
}

// limitsFor widens a pattern's limits for many connections. A burst takes longer with more
// connections. In the other patterns a message is late only by what the generator does between
// messages, on however many connections.
func limitsFor(t *result.Trial, shared bool) limits {
	l := patternLimits[t.Pattern]
	if shared {
		l.latenessP50, l.latenessP99 = 16*l.latenessP50, 16*l.latenessP99
	}
	more := time.Duration(max(0, t.Connections-64)) * burstAllowance
	wide := limits{latenessP99: l.latenessP99 + more, latenessP50: l.latenessP50 + more}
	if t.Pattern != load.Together {
		wide.latenessP99 = min(wide.latenessP99, max(l.latenessP99, spreadLimits.latenessP99))
		wide.latenessP50 = min(wide.latenessP50, max(l.latenessP50, spreadLimits.latenessP50))
	}
	return wide
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
