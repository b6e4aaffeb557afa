package tcp

import "time"

// Pacing spreads a window over its round trip: sent as fast as the device takes it, it overflows
// the queue before the narrowest link of a long path long before the path is full. On a short path
// acknowledgments space the segments well enough, and timers would cost more than they gain: there
// it is off.
const (
	// the smallest window that is paced: what any queue takes at once
	paceLeast = 64 << 10
	paceFrom  = 4 * time.Millisecond // the shortest round trip that is paced
	// what may go at once, in time: as much as a superframe of Linux's takes
	paceQuantum = time.Millisecond
	// what is made up for of the time in which there was nothing to send
	paceCredit = 4 * paceQuantum
	paceLate   = 4 // and by what part of a round trip a timer may be late
)

// pacing is when the sender may go on.
type pacing struct {
	free   Time
	waited bool // for that, since it sent last
}

// held says whether the sender has to wait for its pace, and has the timer set for that.
func (c *Conn) held() bool {
	if c.pacing.free <= c.now || !c.paced() {
		return false
	}
	c.paceAt = max(c.pacing.free, c.now.Add(paceQuantum))
	return true
}

// paced says whether the path is long enough, and the window large enough.
func (c *Conn) paced() bool {
	return c.cwnd.size > paceLeast && c.estimator.least.value() >= paceFrom
}

// spend notes bytes that were sent.
func (c *Conn) spend(bytes int) {
	if c.paced() {
		credit := paceCredit
		if c.pacing.waited {
			credit = max(credit, c.estimator.srtt/paceLate)
		}
		c.pacing.free = max(c.pacing.free, c.now.Add(-credit)).Add(c.paceOf(bytes))
	}
}

// paceOf is how long bytes take: 1.5 windows in a round trip where the window is searched for
// (doubling it by acknowledgments that come evenly takes 2 ln 2 = 1.39 of them), and 1.2 after, so
// that the window stays what bounds the sender. Linux takes 2, and 1.2; 2 overflows the queue
// earlier.
func (c *Conn) paceOf(bytes int) time.Duration {
	took := c.estimator.srtt * time.Duration(bytes) / time.Duration(c.cwnd.size)
	if c.cwnd.size < c.cwnd.threshold/2 {
		return took * 2 / 3
	}
	return took * 5 / 6
}

// paceMost is how much of a superframe may go at once.
func (c *Conn) paceMost(segment int) int {
	if !c.paced() {
		return c.superframe(segment)
	}
	quantum := int(paceQuantum * time.Duration(c.cwnd.size) / max(c.estimator.srtt, 1))
	return min(c.superframe(segment), max(quantum/segment, 2)*segment)
}
