package tcp

// timers are the times at which a connection must act by itself, and what its timers count. A time
// of 0 is not set.
type timers struct {
	rtoAt          Time // retransmission timer (RFC 6298)
	ptoAt          Time // probe timer: send a tail loss probe (RFC 8985)
	reorderAt      Time // RACK reordering timer: what has not arrived by then is lost
	persistAt      Time // persist timer: probe a zero window
	paceAt         Time // the pacer allows the next segment
	autocorkAt     Time // send the end of a stream that waits for more: see autocork
	delayedACKAt   Time // send a delayed acknowledgment
	memoryRetryAt  Time // try again to get memory
	keepAliveAt    Time // probe an idle peer
	timeWaitEndsAt Time // end of TIME-WAIT
	// orphanTimeoutAt ends FIN-WAIT-2 after Orphan, or in other states the linger time.
	orphanTimeoutAt Time

	// stalledAt is since when nothing in flight was acknowledged, or the window was zero.
	stalledAt          Time
	persistBackoff     int  // persist timeouts in a row
	keepAliveProbes    int  // unanswered keep-alive probes
	synTransmits       int  // how often the SYN was sent
	synSentAt          Time // when the SYN was first sent
	lastSentAt         Time // when a segment was last sent
	lastChallengeACKAt Time // when an unacceptable segment was last answered
	lastReceivedAt     Time // when an acceptable segment last arrived
}

// Deadline is when Tick must be called if nothing happens before; 0: never.
func (c *Conn) Deadline() Time {
	// Unset timers are 0. Subtracting 1 wraps them to the maximum, so min ignores them.
	at := min(uint64(c.rtoAt)-1, uint64(c.ptoAt)-1, uint64(c.reorderAt)-1, uint64(c.persistAt)-1, uint64(c.paceAt)-1, uint64(c.autocorkAt)-1,
		uint64(c.delayedACKAt)-1, uint64(c.memoryRetryAt)-1, uint64(c.keepAliveAt)-1, uint64(c.timeWaitEndsAt)-1, uint64(c.orphanTimeoutAt)-1)
	return Time(at + 1)
}

// Tick handles the timers that have expired. Output sends the result.
func (c *Conn) Tick(now Time) {
	c.setNow(now)
	if c.state == TimeWait && c.timeWaitEndsAt.due(now) {
		c.finish()
		return
	}
	if c.orphanTimeoutAt.due(now) {
		if c.state == FinWait2 { // the peer has received everything
			c.finish()
		} else {
			c.Abort(now)
		}
		return
	}
	if c.delayedACKAt.due(now) {
		c.ackPending = true
	}
	if c.autocorkAt.due(now) {
		c.onAutocorkTimeout()
	}
	if c.memoryRetryAt.due(now) {
		c.memoryRetryAt = 0
		if c.writeBlocked {
			c.events |= Writable
		}
		if c.windowShut {
			c.reopenWindow()
		}
	}
	switch {
	case c.ptoAt.due(now): // the PTO may equal the RTO, and goes first
		c.ptoAt, c.tlpPending = 0, true
	case c.rtoAt.due(now):
		c.onRTO()
	case c.reorderAt.due(now):
		c.onReorderTimeout()
	}
	if c.persistAt.due(now) {
		c.onPersistTimeout()
	}
	if c.keepAliveAt.due(now) {
		c.onKeepAliveTimeout()
	}
}

// onRTO handles an expired retransmission timer.
func (c *Conn) onRTO() {
	if c.state == SynSent || c.state == SynReceived {
		if c.rtoBackoff >= c.synRetryLimit() { // answers to repeated SYNs do not count
			c.fail(TimedOut)
			return
		}
		c.rtoBackoff++
		c.synPending = true
		return
	}
	if c.userTimeoutExpired() {
		c.fail(TimedOut)
		return
	}
	c.retransmitTimeout()
}

// synRetryLimit is how often a SYN is retransmitted. A SYN must be tried for at least three minutes
// (RFC 9293, MUST-23). A SYN,ACK, which any sender can cause, is tried for two.
func (c *Conn) synRetryLimit() int {
	if c.passiveOpen {
		return min(c.cfg.SYNRetries, maxSYNACKRetries)
	}
	return c.cfg.SYNRetries
}

// maxSYNACKRetries is how often a SYN,ACK is retransmitted.
const maxSYNACKRetries = 6

// userTimeoutExpired reports whether data has been unacknowledged for the user timeout.
func (c *Conn) userTimeoutExpired() bool {
	if c.stalledAt == 0 {
		c.stalledAt = c.now
	}
	return c.now.Sub(c.stalledAt) >= c.userTimeout()
}

// onReorderTimeout handles an expired RACK reordering timer.
func (c *Conn) onReorderTimeout() {
	c.reorderAt = 0
	d := delivery{rtt: -1}
	lost := c.detectLoss(&d)
	if lost && c.phase == phaseOpen {
		c.startRecovery()
	}
	if c.phase == phaseRecovery {
		c.applyPRR(&d, lost)
	}
	c.rearmTimers(false)
}

// onPersistTimeout probes a zero window (RFC 9293, section 3.8.6.1). The window may stay closed as
// long as the peer answers. After Orphan, the user timeout ends it all the same (as in Linux): no
// application is left that could end the connection.
func (c *Conn) onPersistTimeout() {
	if c.stalledAt == 0 {
		c.stalledAt = c.now
	}
	silent := c.orphaned || c.now.Sub(c.lastReceivedAt) >= c.userTimeout()
	if c.now.Sub(c.stalledAt) >= c.userTimeout() && c.persistBackoff > 3 && silent {
		c.fail(TimedOut)
		return
	}
	c.persistBackoff++
	if c.unsentBytes() > 0 && c.usableWindow() > 0 {
		// SWS avoidance or the cork holds data back: send what fits (override timeout of RFC 9293,
		// section 3.8.6.2.1)
		c.swsOverride = true
	} else {
		c.windowProbePending = true
	}
	c.persistAt = c.now.Add(c.estimator.backedOffRTO(c.persistBackoff))
}

// notePeerActivity records that an acceptable segment arrived.
func (c *Conn) notePeerActivity() {
	c.lastReceivedAt = c.now
	c.keepAliveProbes = 0
	c.keepAliveAt = 0
	if c.cfg.KeepAliveIdle > 0 && c.state >= Established {
		c.keepAliveAt = c.now.Add(c.cfg.KeepAliveIdle)
	}
}

// onKeepAliveTimeout probes an idle peer (RFC 9293, section 3.8.4).
func (c *Conn) onKeepAliveTimeout() {
	// the retransmission and persist timers probe the peer
	if !c.flight.empty() || c.unsentBytes() > 0 {
		c.keepAliveAt = c.now.Add(c.cfg.KeepAliveIdle)
		return
	}
	if c.keepAliveProbes >= c.cfg.KeepAliveCount {
		c.fail(TimedOut)
		return
	}
	c.keepAliveProbes++
	c.windowProbePending = true
	c.keepAliveAt = c.now.Add(c.cfg.KeepAliveInterval)
}

// rearmTimers sets the timers of the data in flight, after something was sent or, if newlyAcked is
// set, acknowledged.
func (c *Conn) rearmTimers(newlyAcked bool) {
	if c.state == Closed || c.state == TimeWait {
		return
	}
	if c.flight.empty() {
		c.rtoAt, c.ptoAt, c.reorderAt = 0, 0, 0
		c.armPersistTimer()
		return
	}
	c.persistAt, c.persistBackoff = 0, 0
	if c.rtoAt == 0 || newlyAcked {
		c.rtoAt = c.now.Add(c.currentRTO())
	}
	if c.stalledAt == 0 {
		c.stalledAt = c.now
	}
	c.ptoAt = 0
	if c.sackPermitted && c.phase == phaseOpen && c.flight.sackedBytes == 0 && !c.tlp.outstanding && c.reorderAt == 0 {
		// the PTO must not exceed the RTO (RFC 8985, section 7.2)
		c.ptoAt = min(c.now.Add(c.pto()), c.rtoAt)
	}
}

// armPersistTimer sets the persist timer if there is something to send, nothing is in flight, and
// the window allows nothing.
func (c *Conn) armPersistTimer() {
	if c.state < Established || !c.hasUnsent() {
		c.persistAt, c.persistBackoff = 0, 0
		return
	}
	if c.persistAt == 0 {
		c.persistAt = c.now.Add(c.estimator.backedOffRTO(c.persistBackoff))
	}
}
