package tcp

// timers are when a connection has something to do by itself; zero: it has not.
type timers struct {
	rtoAt          Time // send again what is under way
	ptoAt          Time // probe for a lost tail
	reorderAt      Time // what was not delivered by then is lost
	persistAt      Time // probe a closed window
	paceAt         Time // go on sending
	delayedACKAt   Time // send a delayed acknowledgment
	memoryRetryAt  Time // look for memory again
	keepAliveAt    Time // probe a silent peer
	timeWaitEndsAt Time // TIME-WAIT ends
	// FIN-WAIT-2 ends that nobody reads in, or what is sent as long as the application lingers
	orphanTimeoutAt Time

	// since when nothing was acknowledged of what is under way, or a window was closed
	stalledAt          Time
	persistBackoff     int
	keepAliveProbes    int
	synTransmits       int
	synSentAt          Time
	lastSentAt         Time
	lastChallengeACKAt Time // when something not acceptable was last answered
	lastReceivedAt     Time // when the peer last gave a sign of life
}

// Deadline is when Tick is to be called, if nothing happens before; 0: never.
func (c *Conn) Deadline() Time {
	// One less than a moment that is none is more than any other: so the least is found without
	// asking.
	at := min(uint64(c.rtoAt)-1, uint64(c.ptoAt)-1, uint64(c.reorderAt)-1, uint64(c.persistAt)-1, uint64(c.paceAt)-1,
		uint64(c.delayedACKAt)-1, uint64(c.memoryRetryAt)-1, uint64(c.keepAliveAt)-1, uint64(c.timeWaitEndsAt)-1, uint64(c.orphanTimeoutAt)-1)
	return Time(at + 1)
}

// Tick does what is due. What it sends is sent by Output.
func (c *Conn) Tick(now Time) {
	c.setNow(now)
	if c.state == TimeWait && c.timeWaitEndsAt.due(now) {
		c.finish()
		return
	}
	if c.orphanTimeoutAt.due(now) {
		if c.state == FinWait2 { // the peer has all
			c.finish()
		} else {
			c.Abort(now)
		}
		return
	}
	if c.delayedACKAt.due(now) {
		c.ackPending = true
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
	case c.ptoAt.due(now): // it may be in the timeout's place
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

// rtoDue is the retransmission timer.
func (c *Conn) onRTO() {
	if c.state == SynSent || c.state == SynReceived {
		if c.synTransmits > c.synRetryLimit() {
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

// tries is how often a SYN is sent again. Who sends one waits for three minutes at least (RFC 9293,
// MUST-23); who answers one keeps what anybody may have asked for, for two.
func (c *Conn) synRetryLimit() int {
	if c.passiveOpen {
		return min(c.cfg.SYNRetries, maxSYNACKRetries)
	}
	return c.cfg.SYNRetries
}

const maxSYNACKRetries = 6

// overdue says whether the peer has been silent for too long.
func (c *Conn) userTimeoutExpired() bool {
	if c.stalledAt == 0 {
		c.stalledAt = c.now
	}
	return c.now.Sub(c.stalledAt) >= c.userTimeout()
}

func (c *Conn) onReorderTimeout() {
	c.reorderAt = 0
	d := delivery{rtt: -1}
	lost := c.detectLoss(&d)
	if lost && c.phase == phaseOpen {
		c.enterRecovery(phaseRecovery)
	}
	if c.phase == phaseRecovery {
		c.applyPRR(&d, lost)
	}
	c.rearmTimers(false)
}

// persistDue probes a window that is closed (RFC 9293, section 3.8.6.1). It may be for as long as
// the peer answers, but not when nobody is left here who could lose patience (as Linux): what is to
// be sent would be kept for ever.
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
		// the window is silly, or it is corked: what can go, goes (RFC 9293, section 3.8.6.2.1)
		c.swsOverride = true
	} else {
		c.windowProbePending = true
	}
	c.persistAt = c.now.Add(c.estimator.backedOffRTO(c.persistBackoff))
}

// heard notes a sign of life.
func (c *Conn) notePeerActivity() {
	c.lastReceivedAt = c.now
	c.keepAliveProbes = 0
	c.keepAliveAt = 0
	if c.cfg.KeepAliveIdle > 0 && c.state >= Established {
		c.keepAliveAt = c.now.Add(c.cfg.KeepAliveIdle)
	}
}

// keepDue probes a peer that has been silent (RFC 9293, section 3.8.4).
func (c *Conn) onKeepAliveTimeout() {
	if !c.flight.empty() || c.unsentBytes() > 0 { // the other timers see to it
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

// rearm sets the timers of what is under way, after something was sent or, anew, acknowledged.
func (c *Conn) rearmTimers(anew bool) {
	if c.state == Closed || c.state == TimeWait {
		return
	}
	if c.flight.empty() {
		c.rtoAt, c.ptoAt, c.reorderAt = 0, 0, 0
		c.armPersistTimer()
		return
	}
	c.persistAt, c.persistBackoff = 0, 0
	if c.rtoAt == 0 || anew {
		c.rtoAt = c.now.Add(c.currentRTO())
	}
	if c.stalledAt == 0 {
		c.stalledAt = c.now
	}
	c.ptoAt = 0
	if c.sackPermitted && c.phase == phaseOpen && c.flight.sackedBytes == 0 && !c.tlp.outstanding && c.reorderAt == 0 {
		// in the timeout's place, if that is sooner (RFC 8985, section 7.2)
		c.ptoAt = min(c.now.Add(c.pto()), c.rtoAt)
	}
}

// persist probes the window when there is something to send, nothing under way, and no room.
func (c *Conn) armPersistTimer() {
	if c.state < Established || !c.hasUnsent() {
		c.persistAt, c.persistBackoff = 0, 0
		return
	}
	if c.persistAt == 0 {
		c.persistAt = c.now.Add(c.estimator.backedOffRTO(c.persistBackoff))
	}
}
