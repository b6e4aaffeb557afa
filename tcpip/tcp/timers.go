package tcp

// timers are when a connection has something to do by itself; zero: it has not.
type timers struct {
	rtoAt     Time // send again what is under way
	probeAt   Time // probe for a lost tail
	reorderAt Time // what was not delivered by then is lost
	persistAt Time // probe a closed window
	paceAt    Time // go on sending
	ackAt     Time // send a delayed acknowledgment
	roomAt    Time // look for memory again
	keepAt    Time // probe a silent peer
	waitUntil Time // TIME-WAIT ends
	// FIN-WAIT-2 ends that nobody reads in, or what is sent as long as the application lingers
	orphanAt Time

	// since when nothing was acknowledged of what is under way, or a window was closed
	stalledAt    Time
	persistTries int
	keepTries    int
	synTries     int
	synAt        Time
	lastSent     Time
	answeredAt   Time // when something not acceptable was last answered
	heardAt      Time // when the peer last gave a sign of life
}

// Deadline is when Tick is to be called, if nothing happens before; 0: never.
func (c *Conn) Deadline() Time {
	// One less than a moment that is none is more than any other: so the least is found without
	// asking.
	at := min(uint64(c.rtoAt)-1, uint64(c.probeAt)-1, uint64(c.reorderAt)-1, uint64(c.persistAt)-1, uint64(c.paceAt)-1,
		uint64(c.ackAt)-1, uint64(c.roomAt)-1, uint64(c.keepAt)-1, uint64(c.waitUntil)-1, uint64(c.orphanAt)-1)
	return Time(at + 1)
}

// Tick does what is due. What it sends is sent by Output.
func (c *Conn) Tick(now Time) {
	c.at(now)
	if c.state == TimeWait && c.waitUntil.due(now) {
		c.finish()
		return
	}
	if c.orphanAt.due(now) {
		if c.state == FinWait2 { // the peer has all
			c.finish()
		} else {
			c.Abort(now)
		}
		return
	}
	if c.ackAt.due(now) {
		c.ackNow = true
	}
	if c.roomAt.due(now) {
		c.roomAt = 0
		if c.full {
			c.events |= Writable
		}
		if c.shut {
			c.reopen()
		}
	}
	switch {
	case c.probeAt.due(now): // it may be in the timeout's place
		c.probeAt, c.probeDue = 0, true
	case c.rtoAt.due(now):
		c.rtoDue()
	case c.reorderAt.due(now):
		c.reorderDue()
	}
	if c.persistAt.due(now) {
		c.persistDue()
	}
	if c.keepAt.due(now) {
		c.keepDue()
	}
}

// rtoDue is the retransmission timer.
func (c *Conn) rtoDue() {
	if c.state == SynSent || c.state == SynReceived {
		if c.synTries > c.tries() {
			c.fail(TimedOut)
			return
		}
		c.backoff++
		c.synDue = true
		return
	}
	if c.overdue() {
		c.fail(TimedOut)
		return
	}
	c.timeout()
}

// tries is how often a SYN is sent again. Who sends one waits for three minutes at least (RFC 9293,
// MUST-23); who answers one keeps what anybody may have asked for, for two.
func (c *Conn) tries() int {
	if c.passive {
		return min(c.cfg.Tries, mostAnswers)
	}
	return c.cfg.Tries
}

const mostAnswers = 6

// overdue says whether the peer has been silent for too long.
func (c *Conn) overdue() bool {
	if c.stalledAt == 0 {
		c.stalledAt = c.now
	}
	return c.now.Sub(c.stalledAt) >= c.userTimeout()
}

func (c *Conn) reorderDue() {
	c.reorderAt = 0
	d := delivery{rtt: -1}
	lost := c.detect(&d)
	if lost && c.phase == open {
		c.enter(recovering)
	}
	if c.phase == recovering {
		c.reduce(&d, lost)
	}
	c.rearm(false)
}

// persistDue probes a window that is closed (RFC 9293, section 3.8.6.1). It may be for as long as
// the peer answers, but not when nobody is left here who could lose patience (as Linux): what is to
// be sent would be kept for ever.
func (c *Conn) persistDue() {
	if c.stalledAt == 0 {
		c.stalledAt = c.now
	}
	silent := c.orphan || c.now.Sub(c.heardAt) >= c.userTimeout()
	if c.now.Sub(c.stalledAt) >= c.userTimeout() && c.persistTries > 3 && silent {
		c.fail(TimedOut)
		return
	}
	c.persistTries++
	if c.unsent() > 0 && c.sendWindow() > 0 {
		// the window is silly, or it is corked: what can go, goes (RFC 9293, section 3.8.6.2.1)
		c.pushDue = true
	} else {
		c.windowProbe = true
	}
	c.persistAt = c.now.Add(c.estimator.backedOff(c.persistTries))
}

// heard notes a sign of life.
func (c *Conn) heard() {
	c.heardAt = c.now
	c.keepTries = 0
	c.keepAt = 0
	if c.cfg.KeepIdle > 0 && c.state >= Established {
		c.keepAt = c.now.Add(c.cfg.KeepIdle)
	}
}

// keepDue probes a peer that has been silent (RFC 9293, section 3.8.4).
func (c *Conn) keepDue() {
	if !c.flight.empty() || c.unsent() > 0 { // the other timers see to it
		c.keepAt = c.now.Add(c.cfg.KeepIdle)
		return
	}
	if c.keepTries >= c.cfg.KeepTries {
		c.fail(TimedOut)
		return
	}
	c.keepTries++
	c.windowProbe = true
	c.keepAt = c.now.Add(c.cfg.KeepEvery)
}

// rearm sets the timers of what is under way, after something was sent or, anew, acknowledged.
func (c *Conn) rearm(anew bool) {
	if c.state == Closed || c.state == TimeWait {
		return
	}
	if c.flight.empty() {
		c.rtoAt, c.probeAt, c.reorderAt = 0, 0, 0
		c.persist()
		return
	}
	c.persistAt, c.persistTries = 0, 0
	if c.rtoAt == 0 || anew {
		c.rtoAt = c.now.Add(c.rtoNow())
	}
	if c.stalledAt == 0 {
		c.stalledAt = c.now
	}
	c.probeAt = 0
	if c.sack && c.phase == open && c.flight.sacked == 0 && !c.probe.sent && c.reorderAt == 0 {
		// in the timeout's place, if that is sooner (RFC 8985, section 7.2)
		c.probeAt = min(c.now.Add(c.probeDelay()), c.rtoAt)
	}
}

// persist probes the window when there is something to send, nothing under way, and no room.
func (c *Conn) persist() {
	if c.state < Established || !c.waiting() {
		c.persistAt, c.persistTries = 0, 0
		return
	}
	if c.persistAt == 0 {
		c.persistAt = c.now.Add(c.estimator.backedOff(c.persistTries))
	}
}
