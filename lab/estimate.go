package lab

import (
	"fmt"
	"time"
	"weir/lab/workload"
)

const (
	// the part of a trial outside warm-up and window: two processes start, connect and stop
	trialOverhead = 450 * time.Millisecond
	// 27 progress reports: fewer at noise below 2 %, more where a change is seen
	typicalWarmUp = 1350 * time.Millisecond
)

// announcePlan reports, before the trials, how many there are and about how long they take.
func (r *Runner) announcePlan(skip map[Place]bool) {
	var all, first estimate // first: one block of each cell, which the time limit does not cut
	for block := range r.plan.All() {
		for _, p := range block {
			if skip[p] {
				continue
			}
			all.add(r.expectedDuration(p))
			if p.Block == 0 {
				first.add(r.expectedDuration(p))
			}
		}
	}
	headline := r.estimateHeadline(skip)
	all.trials, all.time = all.trials+headline.trials, all.time+headline.time
	what := all.String()
	r.total, r.timeLimited = r.plan.Trials()+r.plannedHeadlineTrials(), headline.trials > 0
	switch limit := time.Duration(r.experiment.TimeLimit); {
	case limit > 0 && first.time > limit:
		what = fmt.Sprintf("%v: one block of each cell, which is the least and exceeds the limit of %v", first, limit)
		r.total = len(skip) + first.trials
	case limit > 0 && all.time > limit:
		what = fmt.Sprintf("as many of %d trials as fit %v", all.trials, limit)
		r.timeLimited = true
	}
	r.progress(Progress{Phase: "planned:", What: what, CPU: -1})
}

// estimateHeadline estimates the headline's own blocks, which may be fewer than planned.
func (r *Runner) estimateHeadline(skip map[Place]bool) (all estimate) {
	if r.plannedHeadlineTrials() == 0 || r.sharedBlocksStarted() {
		return all
	}
	for number := range r.results.Headline.PlannedBlocks {
		for _, p := range r.plan.headlineBlock(number) {
			if !skip[p] {
				all.add(r.expectedDuration(p))
			}
		}
	}
	return all
}

// plannedHeadlineTrials is the number of trials in the headline's own blocks, if all are needed.
func (r *Runner) plannedHeadlineTrials() int {
	if r.results.Headline == nil || r.results.Headline.PlannedBlocks == 0 {
		return 0
	}
	return r.results.Headline.PlannedBlocks * len(r.plan.headlineBlock(0))
}

// estimate is a number of trials, and how long they take on a quiet machine.
type estimate struct {
	trials int
	time   time.Duration
}

func (e *estimate) add(d time.Duration) { e.trials, e.time = e.trials+1, e.time+d }

func (e estimate) String() string {
	return fmt.Sprintf("%d trials, about %s", e.trials, roughly(e.time))
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
func (r *Runner) windowOf(l workload.Load) time.Duration {
	if own := l.Shared().Duration; own > 0 {
		return time.Duration(own)
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
