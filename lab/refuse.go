package lab

import (
	"fmt"
	"time"

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
	Shared       bool          // generator and subject stand on the same cores
}

// limits on what a trial may have suffered. They depend on the arrival pattern, because a burst of 64
// messages takes its time even from a generator that is exactly on time.
type limits struct{ latenessP99, latenessP50 time.Duration }

var patternLimits = map[string]limits{
	"staggered": {latenessP99: 1 * time.Millisecond, latenessP50: 100 * time.Microsecond},
	"poisson":   {latenessP99: 1 * time.Millisecond, latenessP50: 150 * time.Microsecond},
	"together":  {latenessP99: 4 * time.Millisecond, latenessP50: 2 * time.Millisecond},
}

const (
	minAchieved  = 0.999
	maxBehind    = 0.001 // of the messages
	maxRunQueue  = 0.05  // of the window: the generator ready, but not running
	maxSteal     = 0.01  // of the window, of one core
	maxNeighbour = 0.05  // of the window, of one core
)

// refusals judges a trial. An empty answer means that it may count. The limits on lateness are relaxed
// sixteenfold where generator and subject share their cores, since then each is late by the other's work.
func refusals(t *result.Trial, ev Evidence) []string {
	var why []string
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			why = append(why, fmt.Sprintf(format, args...))
		}
	}
	l := patternLimits[t.Pattern]
	if ev.Shared {
		l.latenessP50, l.latenessP99 = 16*l.latenessP50, 16*l.latenessP99
	}
	l = l.forConnections(t.Connections)
	share := func(d time.Duration) float64 { return float64(d) / float64(ev.Window) }
	refuse(t.AchievedRatio < minAchieved, "load short: %.2f %% of the offered messages were sent", 100*t.AchievedRatio)
	refuse(float64(t.Behind) > maxBehind*float64(t.Messages), "load blocked: %d of %d messages found their connection full", t.Behind, t.Messages)
	refuse(t.LatenessUS.P50 > us(l.latenessP50), "generator late: median %.0f us, limit %.0f us", t.LatenessUS.P50, us(l.latenessP50))
	refuse(t.LatenessUS.P99 > us(l.latenessP99), "generator late: 99th percentile %.0f us, limit %.0f us", t.LatenessUS.P99, us(l.latenessP99))
	refuse(t.LoadRunQueue > maxRunQueue && !ev.Shared, "generator waited %.1f %% of the window for its core", 100*t.LoadRunQueue)
	refuse(share(ev.Steal) > maxSteal, "hypervisor took %.1f %% of a core", 100*share(ev.Steal))
	refuse(share(ev.Neighbour) > maxNeighbour, "another process took %.1f %% of a core: %s", 100*share(ev.Neighbour), ev.NeighbourWho)
	return why
}

// forConnections widens the limits for many connections: sending to each takes a few microseconds, so
// a thousand cannot be on time together, nor ten thousand apart.
func (l limits) forConnections(n int) limits {
	if n > 64 {
		more := time.Duration(n-64) * 10 * time.Microsecond
		l.latenessP50, l.latenessP99 = l.latenessP50+more, l.latenessP99+more
	}
	return l
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
