package flow

import "time"

// sampleEvery is how many batches an owner runs for each one that it times, and for each time that
// it publishes its counters.
const sampleEvery = 64

// clock measures the service time of one batch in sampleEvery: reading the time costs more than a
// stage.
type clock struct {
	on      bool      // this batch is timed
	charged *counters // the stage to which the time since then is charged; nil: none
	since   time.Time
}

// charge charges the time from now on to a stage, or to none, and returns the stage before.
func (c *clock) charge(stage *counters) (before *counters) {
	if !c.on {
		return nil
	}
	now := time.Now()
	if c.charged != nil {
		c.charged[stageNanos] += uint64(now.Sub(c.since))
	}
	before, c.charged, c.since = c.charged, stage, now
	return before
}
