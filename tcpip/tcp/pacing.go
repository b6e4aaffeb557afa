package tcp

import "time"

// Pacing spreads a window over a round trip. Sent at once, a window overflows the queue at the
// bottleneck link of a long path long before the path is full. On a short path acknowledgments
// space the segments well enough, and timers cost more than they gain, so pacing is off.
const (
	// smallest congestion window that is paced, in bytes: any queue takes less at once
	minPacedCwnd = 64 << 10
	minPacedRTT  = 4 * time.Millisecond // shortest round trip that is paced
	// longest burst, in time at the paced rate: that of a superframe in Linux
	pacingQuantum = time.Millisecond
	// how much idle time may be caught up
	maxPacingCredit   = 4 * pacingQuantum
	pacingLateDivisor = 4 // of a late timer, a round trip divided by this may be caught up
)

// pacing is the state of the pacer.
type pacing struct {
	nextSendAt  Time // earliest time of the next segment
	timerWasSet bool // the sender has waited for it since it last sent
}

// waitForPacing reports whether the sender must wait for its pace, and sets the timer if so.
func (c *Conn) waitForPacing() bool {
	if c.pacing.nextSendAt <= c.now || !c.isPaced() {
		return false
	}
	c.paceAt = max(c.pacing.nextSendAt, c.now.Add(pacingQuantum))
	return true
}

// isPaced reports whether the window and the round-trip time are large enough for pacing.
func (c *Conn) isPaced() bool {
	return c.cwnd.size > minPacedCwnd && c.estimator.minRTT.value() >= minPacedRTT
}

// chargePacing delays the next segment by the time that the sent bytes take.
func (c *Conn) chargePacing(bytes int) {
	if c.isPaced() {
		credit := maxPacingCredit
		if c.pacing.timerWasSet {
			credit = max(credit, c.estimator.srtt/pacingLateDivisor)
		}
		c.pacing.nextSendAt = max(c.pacing.nextSendAt, c.now.Add(-credit)).Add(c.pacingInterval(bytes))
	}
}

// pacingInterval is how long bytes take at the paced rate: 1.5 windows per round trip in slow
// start, 1.2 afterwards, so that the window stays the limit. Slow start with evenly spaced
// acknowledgments needs 2 ln 2 = 1.39. Linux uses 2 and 1.2; 2 overflows the queue earlier.
func (c *Conn) pacingInterval(bytes int) time.Duration {
	interval := c.estimator.srtt * time.Duration(bytes) / time.Duration(c.cwnd.size)
	if c.cwnd.size < c.cwnd.ssthresh/2 {
		return interval * 2 / 3
	}
	return interval * 5 / 6
}

// pacingBurst is the largest payload that may be sent at once.
func (c *Conn) pacingBurst(segment int) int {
	if !c.isPaced() {
		return c.superframeSize(segment)
	}
	quantum := int(pacingQuantum * time.Duration(c.cwnd.size) / max(c.estimator.srtt, 1))
	return min(c.superframeSize(segment), max(quantum/segment, 2)*segment)
}
