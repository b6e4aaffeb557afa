package flow

import "time"

// sampleEvery is how many batches an owner runs for one that it times, and for each time that it
// shows its counts.
const sampleEvery = 64

// clock takes the time of one batch in sampleEvery: reading it costs more than a stage.
type clock struct {
	on    bool    // for this batch
	stage *counts // whose the time is since then; nil: nobody's
	since time.Time
}

// charge has the time from now on count as a stage's work, or as nobody's, and returns whose it was
// before.
func (c *clock) charge(stage *counts) (before *counts) {
	if !c.on {
		return nil
	}
	now := time.Now()
	if c.stage != nil {
		c.stage[nanos] += uint64(now.Sub(c.since))
	}
	before, c.stage, c.since = c.stage, stage, now
	return before
}
