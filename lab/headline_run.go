package lab

import (
	"context"
	"fmt"
	"time"

	"weir/lab/result"
	"weir/lab/stat/sequential"
)

const (
	// maxHeadlineBlocks limits the planned blocks of the headline. With more, the first looks would
	// come too late.
	maxHeadlineBlocks = 40
	// headlineReserve is the part of the time limit that is not planned, because trials differ in
	// duration.
	headlineReserve = 0.03
)

// planHeadline records the headline of the run and plans the blocks of its own. It has such blocks
// in a run with a time limit: as many as fit beside one block of each cell. Without a time limit,
// or if fewer than a decision needs would fit, it is tested in the blocks that all subjects share.
// The plan depends on the experiment alone, so that a resumed run has the same.
func (r *Runner) planHeadline() {
	if r.options.AfterBlock != nil {
		r.plan.Headline = nil // the caller has a test of its own
	}
	h := r.plan.Headline
	if r.results.Headline = h; h == nil || r.experiment.TimeLimit == 0 {
		return
	}
	left := time.Duration((1-headlineReserve)*float64(r.experiment.TimeLimit)) - r.expectedFirstRound()
	var block time.Duration
	for _, p := range r.plan.headlineBlock(0) {
		block += r.expectedDuration(p)
	}
	if blocks := int(left / block); blocks >= sequential.FirstLook {
		h.PlannedBlocks = min(blocks, maxHeadlineBlocks)
	}
}

// expectedFirstRound estimates the time of one block of each cell.
func (r *Runner) expectedFirstRound() (all time.Duration) {
	for block := range r.plan.All() {
		if block[0].Block > 0 {
			break
		}
		for _, p := range block {
			all += r.expectedDuration(p)
		}
	}
	return all
}

// runHeadline runs the headline's own blocks until its test has a verdict, the planned blocks have
// accepted trials, or only the time for one block of each cell is left. A resumed run repeats no
// trial of a block that others followed: the test has already seen the blocks in their order.
func (r *Runner) runHeadline(ctx context.Context, skip map[Place]bool) error {
	h := r.results.Headline
	if h == nil || h.PlannedBlocks == 0 || r.sharedBlocksStarted() {
		return nil
	}
	for number := r.lastHeadlineBlock(); !r.headlineDecided(number); number++ {
		if err := r.runBlock(ctx, r.plan.headlineBlock(number), skip, r.placesAfterHeadline(number)); err != nil {
			return err
		}
	}
	r.progress(Progress{Phase: "headline:", What: r.describeHeadline(), CPU: -1})
	return nil
}

// sharedBlocksStarted reports whether there are trials of the blocks that follow the headline's.
func (r *Runner) sharedBlocksStarted() bool {
	for i := range r.results.Trials {
		if !r.results.Trials[i].OfHeadline() {
			return true
		}
	}
	return false
}

// lastHeadlineBlock returns the number of the headline's last block that has a trial, or 0.
func (r *Runner) lastHeadlineBlock() (last int) {
	for i := range r.results.Trials {
		last = max(last, r.results.Trials[i].Block-result.FirstHeadlineBlock)
	}
	return last
}

// headlineDecided reports whether the block of the given number, and those after it, are not to be
// run. The first blocks, which a verdict needs, may use the time for the other cells.
func (r *Runner) headlineDecided(number int) bool {
	h := r.experiment.kind().Report().Compare().Headline(r.results)
	if h.Verdict != result.Undecided || h.Blocks >= h.PlannedBlocks || r.headlineIsHopeless() {
		return true
	}
	return r.outOfTime(len(r.plan.headlineBlock(number)) + r.placesAfterHeadline(number))
}

// headlineIsHopeless reports whether a subject of the headline has no accepted trial in a whole
// block, with all attempts. Further blocks would use up the time of the other subjects. This does
// not depend on the figures of trials, so that the error rates of the test hold.
func (r *Runner) headlineIsHopeless() bool {
	h := r.results.Headline
	return r.failsInHeadline(h.A) || r.failsInHeadline(h.B)
}

// failsInHeadline reports whether both places of a subject in a block are given up, and none of its
// trials is accepted.
func (r *Runner) failsInHeadline(subject string) bool {
	givenUp := 0
	for i := range r.results.Trials {
		t := &r.results.Trials[i]
		if t.Subject != subject || !t.OfHeadline() {
			continue
		}
		if t.Accepted {
			return false
		}
		if isFinal(t) {
			givenUp++
		}
	}
	return givenUp >= 2
}

// placesAfterHeadline returns the number of trials for which a block of the headline must leave
// time.
func (r *Runner) placesAfterHeadline(number int) (places int) {
	if number < sequential.FirstLook {
		return 0
	}
	for _, c := range r.plan.cellsOf(0) {
		places += r.plan.BlockLen(c)
	}
	return places
}

// runBlock runs the places of a block that skip does not have. toCome is the number of trials after
// the block for which repetitions must leave time.
func (r *Runner) runBlock(ctx context.Context, block []Place, skip map[Place]bool, toCome int) error {
	for i, p := range block {
		if skip[p] {
			continue
		}
		if err := r.runPlace(ctx, p, toCome+len(block)-i-1); err != nil {
			return err
		}
		r.placesDone++
	}
	return nil
}

// describeHeadline states what the headline's test found so far.
func (r *Runner) describeHeadline() string {
	h := r.experiment.kind().Report().Compare().Headline(r.results)
	text := fmt.Sprintf("%s and %s are %s", h.A, h.B, h.Verdict)
	if h.Verdict == result.Undecided {
		text += " so far"
	}
	if h.High > 0 {
		text += fmt.Sprintf(", ratio %.3g (%.3g to %.3g)", h.Ratio, h.Low, h.High)
	}
	return text + fmt.Sprintf(", after %d of at most %d blocks; now all subjects", h.Blocks, h.PlannedBlocks)
}
