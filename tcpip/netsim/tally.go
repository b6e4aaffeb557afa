package netsim

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// tally counts the worlds of a Run.
type tally struct {
	first                uint64 // seed
	run, skipped, failed int
	places               []place // of failures: the first one is that of the first failure
	began                time.Time
}

// place is where a seed failed.
type place struct {
	seed uint64
	at   string // file and line
}

func (y *tally) add(w *World) {
	y.run++
	if w.Skipped() {
		y.skipped++
	}
}

// minCountTime and maxCountTime limit how long, in real time, seeds are counted.
const minCountTime, maxCountTime = time.Second, 10 * time.Second

// countTime is how long addRest may go on, in real time: as long again as it took to find the first
// failure, within limits, and a quarter of the time that is left to the test at most.
func (y *tally) countTime(t *testing.T) time.Duration {
	t.Helper()
	limit := min(max(minCountTime, time.Since(y.began)), maxCountTime)
	if deadline, ok := t.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/4)
	}
	return limit
}

// addRest runs the seeds behind that of the first failure, to count how many fail. It stops at a
// world that was given up, because that one still has its goroutines.
func (y *tally) addRest(t *testing.T, first *World, count int, limit time.Duration, test func(*World)) {
	t.Helper()
	y.failed, y.places = 1, []place{{first.seed, first.failedAt()}}
	until := time.Now().Add(limit)
	for n, last := 1, first; n <= count && !last.givenUp && time.Now().Before(until); n++ {
		w := newWorld(first.seed+uint64(n), nil)
		w.runIn(t, test)
		y.add(w)
		if w.Failed() {
			y.failed++
			if at := w.failedAt(); !slices.ContainsFunc(y.places, func(p place) bool { return p.at == at }) {
				y.places = append(y.places, place{w.seed, at})
			}
		}
		last = w
	}
}

// String describes the tally of a Run that has failed; "": there is nothing to count.
func (y *tally) String() string {
	if y.run < 2 {
		return ""
	}
	text := fmt.Sprintf("Seeds that fail: %d of the %d from %d on that were run\n", y.failed, y.run, y.first)
	for _, p := range y.places[1:min(len(y.places), shownFailures)] {
		text += fmt.Sprintf("    seed %d at another place: %s\n", p.seed, p.at)
	}
	return text
}
