package lab

import (
	"fmt"
	"time"
)

const (
	// the part of a trial outside warm-up and window: two processes start, connect and stop
	trialOverhead = 450 * time.Millisecond
	// 27 progress reports: fewer at noise below 2 %, more where a change is seen
	typicalWarmUp = 1350 * time.Millisecond
)

// announcePlan reports, before the trials, how many there are and about how long they take.
func (r *Runner) announcePlan(skip map[Place]bool) {
	toGo := 0
	var all time.Duration
	for block := range r.plan.All() {
		for _, p := range block {
			if !skip[p] {
				toGo++
				all += r.expectedDuration(p)
			}
		}
	}
	what := fmt.Sprintf("%d trials, about %s", toGo, roughly(all))
	if limit := time.Duration(r.experiment.TimeLimit); limit > 0 && all > limit {
		what = fmt.Sprintf("as many of %d trials as fit %v", toGo, limit)
	}
	r.progress(Progress{Phase: "planned:", What: what, CPU: -1})
}

// expectedDuration estimates how long the trial at p takes on a quiet machine, without retries.
func (r *Runner) expectedDuration(p Place) time.Duration {
	l := r.loadNamed(p.Load)
	warmUp := typicalWarmUp
	if most := time.Duration(r.experiment.WarmLimit); most > 0 {
		warmUp = min(warmUp, most)
	}
	return trialOverhead + max(warmUp, r.expectedWarmUp(p.baseSubject(), l, p.Connections)) + r.windowOf(l)
}

// windowOf returns the length of the measured window of l.
func (r *Runner) windowOf(l Load) time.Duration {
	if l.Duration > 0 {
		return time.Duration(l.Duration)
	}
	return time.Duration(r.experiment.Duration)
}

// roughly formats a duration at the precision of an estimate: "40 seconds", "25 minutes", "1 h 40
// min".
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d seconds", int(d.Round(10*time.Second).Seconds()))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
	}
	minutes := int(d.Round(5 * time.Minute).Minutes())
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}
