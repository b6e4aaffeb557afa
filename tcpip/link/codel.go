package link

import (
	"math"
	"time"
)

// The constants of CoDel (RFC 8289, section 4.2 and 4.3).
const (
	codelTarget   = 5 * time.Millisecond
	codelInterval = 100 * time.Millisecond
)

// codel is the state of controlled delay (RFC 8289, section 5). It differs from the RFC in one
// point: because the departure of a frame is computed when it arrives, the last frame of a queue is
// not spared.
type codel struct {
	// when the delay will have been above the target for an interval; zero: it is below
	firstAbove time.Time
	dropNext   time.Time // when the next frame is dropped, while dropping
	count      int       // frames dropped since the state of dropping was entered
	lastCount  int       // count when it was entered
	dropping   bool
}

// drops reports whether a frame that leaves the queue at a time, after a delay, is dropped instead.
func (c *codel) drops(now time.Time, delay time.Duration) bool {
	above := c.isAbove(now, delay)
	switch {
	case c.dropping && !above:
		c.dropping = false
		return false
	case c.dropping && !now.Before(c.dropNext):
		c.count++
		c.dropNext = c.control(c.dropNext)
		return true
	case !c.dropping && above:
		c.enter(now)
		return true
	}
	return false
}

// isAbove reports whether the delay has been above the target for an interval.
func (c *codel) isAbove(now time.Time, delay time.Duration) bool {
	if delay < codelTarget {
		c.firstAbove = time.Time{}
		return false
	}
	if c.firstAbove.IsZero() {
		c.firstAbove = now.Add(codelInterval)
		return false
	}
	return !now.Before(c.firstAbove)
}

// enter enters the state of dropping, near the last rate of drops if that is not long ago.
func (c *codel) enter(now time.Time) {
	c.dropping = true
	more := c.count - c.lastCount
	c.count = 1
	if more > 1 && now.Sub(c.dropNext) < 16*codelInterval {
		c.count = more
	}
	c.dropNext = c.control(now)
	c.lastCount = c.count
}

// control returns the time of the next drop: the control law.
func (c *codel) control(t time.Time) time.Time {
	return t.Add(time.Duration(float64(codelInterval) / math.Sqrt(float64(c.count))))
}
