package tcp

import "time"

// Pacing spreads a window over its round trip: sent as fast as the device takes it, it overflows
// the queue before the narrowest link of a long path long before the path is full. On a short path
// acknowledgments space the segments well enough, and timers would cost more than they gain: there
// it is off.
const (
	// the smallest window that is paced: what any queue takes at once
	minPacedCwnd = 64 << 10
	minPacedRTT  = 4 * time.Millisecond // the shortest round trip that is paced
	// what may go at once, in time: as much as a superframe of Linux's takes
	pacingQuantum = time.Millisecond
	// what is made up for of the time in which there was nothing to send
	maxPacingCredit   = 4 * pacingQuantum
	pacingLateDivisor = 4 // and by what part of a round trip a timer may be late
)

// pacing is when the sender may go on.
type pacing struct {
	nextSendAt  Time
	timerWasSet bool // for that, since it sent last
}

// held says whether the sender has to wait for its pace, and has the timer set for that.
func (c *Conn) waitForPacing() bool {
	if c.pacing.nextSendAt <= c.now || !c.isPaced() {
		return false
	}
	c.paceAt = max(c.pacing.nextSendAt, c.now.Add(pacingQuantum))
	return true
}

// paced says whether the path is long enough, and the window large enough.
func (c *Conn) isPaced() bool {
	return c.cwnd.size > minPacedCwnd && c.estimator.minRTT.value() >= minPacedRTT
}

// spend notes bytes that were sent.
func (c *Conn) chargePacing(bytes int) {
	if c.isPaced() {
		credit := maxPacingCredit
		if c.pacing.timerWasSet {
			credit = max(credit, c.estimator.srtt/pacingLateDivisor)
		}
		c.pacing.nextSendAt = max(c.pacing.nextSendAt, c.now.Add(-credit)).Add(c.pacingInterval(bytes))
	}
}

// paceOf is how long bytes take: 1.5 windows in a round trip where the window is searched for
// (doubling it by acknowledgments that come evenly takes 2 ln 2 = 1.39 of them), and 1.2 after, so
// that the window stays what bounds the sender. Linux takes 2, and 1.2; 2 overflows the queue
// earlier.
func (c *Conn) pacingInterval(bytes int) time.Duration {
	took := c.estimator.srtt * time.Duration(bytes) / time.Duration(c.cwnd.size)
	if c.cwnd.size < c.cwnd.ssthresh/2 {
		return took * 2 / 3
	}
	return took * 5 / 6
}

// paceMost is how much of a superframe may go at once.
func (c *Conn) pacingBurst(segment int) int {
	if !c.isPaced() {
		return c.superframeSize(segment)
	}
	quantum := int(pacingQuantum * time.Duration(c.cwnd.size) / max(c.estimator.srtt, 1))
	return min(c.superframeSize(segment), max(quantum/segment, 2)*segment)
}
