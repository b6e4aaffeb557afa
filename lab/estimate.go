package lab

import (
	"fmt"
	"time"
)

const (
	// of a trial beside warm-up and window: two processes begin, connect and end
	trialAround = 450 * time.Millisecond
	// 27 pieces of progress: fewer at noise under 2 %, more where a change is seen
	leastWarmUp = 1350 * time.Millisecond
)

// announce says before the trials how many there are and about how long they take.
func (r *Runner) announce(skip map[Place]bool) {
	toGo := 0
	var all time.Duration
	for block := range r.plan.All() {
		for _, p := range block {
			if !skip[p] {
				toGo++
				all += r.expected(p)
			}
		}
	}
	what := fmt.Sprintf("%d trials, about %s", toGo, roughly(all))
	if limit := time.Duration(r.experiment.Time); limit > 0 && all > limit {
		what = fmt.Sprintf("as many of %d trials as fit %v", toGo, limit)
	}
	r.progress(Progress{Phase: "planned:", What: what, CPU: -1})
}

// expected is about how long the trial at p takes on a quiet machine; refused ones come on top.
func (r *Runner) expected(p Place) time.Duration {
	l := r.load(p.Load)
	settle := leastWarmUp
	if most := time.Duration(r.experiment.WarmLimit); most > 0 {
		settle = min(settle, most)
	}
	return trialAround + max(settle, r.warmUp(p.base(), l, p.Connections)) + r.windowOf(l)
}

// windowOf is how long the measured window of l is.
func (r *Runner) windowOf(l Load) time.Duration {
	if l.Duration > 0 {
		return time.Duration(l.Duration)
	}
	return time.Duration(r.experiment.Duration)
}

// roughly is a duration as precise as an estimate is: "40 seconds", "25 minutes", "1 h 40 min".
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
