package tcp

import (
	"time"

	"weir/wire"
)

// phase is what the sender does about losses.
type phase uint8

const (
	open phase = iota // nothing is lost, as far as is known
	// fast recovery: what is lost is sent again as room comes (RFC 6675, RFC 6937)
	recovering
	// nothing was heard for too long: everything is sent again, slowly at first
	timedOut
)

// recovery is a sender's loss recovery.
type recovery struct {
	rack
	phase      phase
	point      wire.Seq // behind what was sent when it began: there it ends
	duplicates int      // acknowledgments in a row that said nothing new, of a peer without SACK
	backoff    int      // timeouts in a row
	roundEnd   wire.Seq // a round trip of the congestion control ends when this is acknowledged
	prr        prr
	probe      probe
	before     before
}

// prr is proportional rate reduction (RFC 6937): how much may be sent in a recovery.
type prr struct{ delivered, sent, flight int }

// probe is a tail loss probe (RFC 8985, section 7).
type probe struct {
	end   wire.Seq // behind it
	sent  bool     // it was, and is not decided yet
	again bool     // it sent something again
}

// before is what was when a recovery began, to go back to if nothing was lost (RFC 3522, RFC 4015).
type before struct {
	size, threshold int
	// of the first segment that was sent again; 0: none was, or there are no timestamps
	stamp wire.Stamp
}

const duplicateThreshold = 3

// recover finds out what is lost, and how much may be sent now.
func (c *Conn) recover(d *delivery) {
	if c.phase != open && c.spurious(d) {
		c.undo()
	}
	if c.phase != open && c.point.LessEq(c.una) {
		c.recovered()
	}
	lost := c.detect(d)
	switch {
	case lost && c.phase == open:
		c.enter(recovering)
	case c.phase == open || c.phase == timedOut:
		c.grow(d)
	}
	if c.phase == recovering {
		c.reduce(d, lost)
	}
}

// detect marks what is lost, and says whether there is anything new.
func (c *Conn) detect(d *delivery) bool {
	if c.flight.empty() {
		c.reorderAt = 0
		return false
	}
	if !c.sack {
		return c.detectByDuplicates(d)
	}
	impatient := c.phase != open || c.flight.sacked >= duplicateThreshold*c.cwnd.mss
	wait, lost := c.rack.detect(&c.flight, c.rack.patience(&c.estimator, impatient), c.now)
	c.reorderAt = 0
	if wait > 0 {
		c.reorderAt = c.now.Add(wait)
	}
	return lost
}

// detectByDuplicates is NewReno (RFC 6582): three duplicates, and in a recovery every
// acknowledgment of a part, say that the first piece is lost.
func (c *Conn) detectByDuplicates(d *delivery) bool {
	at := place{c.flight.first, 0}
	first := c.flight.piece(at)
	partial := c.phase == recovering && d.inOrder > 0
	if first.state == lost || !partial && (c.phase != open || c.duplicates < duplicateThreshold) {
		return false
	}
	if first.len() > c.cwnd.mss {
		c.flight.split(at, first.seq.Add(c.cwnd.mss))
		first = c.flight.piece(at)
	}
	c.flight.lose(first)
	return true
}

// enter begins a recovery.
func (c *Conn) enter(to phase) {
	if c.phase == open {
		c.before = before{size: c.cwnd.size, threshold: c.cwnd.threshold}
	}
	if c.phase != recovering || to != timedOut || c.una == c.point {
		c.cwnd.threshold = c.control.threshold(&c.cwnd, c.now)
	}
	if to == timedOut {
		c.control.silence()
	}
	c.phase, c.point = to, c.nxt
	c.notice.slowed = c.notice.agreed
	c.prr = prr{flight: max(c.flight.bytes, 1)}
	c.probe = probe{}
}

// reduce is RFC 6937, with the conservative bound unless nothing more was lost.
func (c *Conn) reduce(d *delivery, lost bool) {
	delivered := d.bytes
	if !c.sack && delivered == 0 && c.duplicates > 0 {
		delivered = c.cwnd.mss // a duplicate says that a segment has left the network
	}
	c.prr.delivered += delivered
	pipe := c.flight.pipe()
	if !c.sack {
		pipe = max(0, pipe-c.duplicates*c.cwnd.mss)
	}
	var allowed int
	if pipe > c.cwnd.threshold {
		arrived, flight := int64(c.prr.delivered), int64(c.prr.flight)
		allowed = int((arrived*int64(c.cwnd.threshold)+flight-1)/flight) - c.prr.sent
	} else {
		allowed = max(c.prr.delivered-c.prr.sent, delivered)
		if d.inOrder > 0 && !lost {
			allowed += c.cwnd.mss
		}
		allowed = min(c.cwnd.threshold-pipe, allowed)
	}
	if c.prr.sent == 0 || lost && !c.sack {
		allowed = max(allowed, c.cwnd.mss) // the first goes in any case, and NewReno's next
	}
	c.cwnd.size = max(c.flight.pipe()+max(allowed, 0), c.cwnd.mss)
}

// recovered ends a recovery.
func (c *Conn) recovered() {
	if c.phase == recovering {
		c.cwnd.size = max(min(c.cwnd.threshold, c.flight.pipe()+4*c.cwnd.mss), leastSegments*c.cwnd.mss)
		c.cwnd.size = max(c.cwnd.size, min(c.cwnd.threshold, c.before.size))
	}
	c.phase, c.duplicates = open, 0
	c.before.stamp = 0
	c.rack.recovered()
}

// grow opens the window when it was what held the sender back.
func (c *Conn) grow(d *delivery) {
	if d.inOrder == 0 || d.crowded {
		return
	}
	round := c.roundEnd.LessEq(c.una)
	if round {
		c.roundEnd = c.nxt
	}
	if c.usage.limited || c.cwnd.slowStart() && 2*c.usage.most > c.cwnd.size {
		c.control.acked(&c.cwnd, acked{now: c.now, bytes: d.inOrder, rtt: d.rtt, round: round})
	}
}

// spurious says whether an acknowledgment answers what was sent before it was sent again: it was
// not lost.
func (c *Conn) spurious(d *delivery) bool {
	return c.before.stamp != 0 && d.inOrder > 0 && d.stamped && d.stamp != 0 && d.stamp.Less(c.before.stamp)
}

// undo goes back to where a recovery began that was for nothing.
func (c *Conn) undo() {
	c.flight.findAll()
	c.cwnd.size, c.cwnd.threshold = max(c.cwnd.size, c.before.size), max(c.cwnd.threshold, c.before.threshold)
	c.control.undo()
	c.phase, c.backoff, c.before.stamp = open, 0, 0
}

// timeout is the retransmission timer's (RFC 6298, section 5; RFC 8985, section 6.3): all that is
// not known to have come is lost.
func (c *Conn) timeout() {
	c.backoff++
	if c.phase != timedOut || c.backoff == 1 {
		c.enter(timedOut)
	}
	// A receiver may take back what it told by SACK, and has done so if that is where the window
	// begins (RFC 2018, section 8).
	takenBack := !c.flight.empty() && c.flight.piece(place{c.flight.first, 0}).state == sacked
	c.flight.loseAll(takenBack || c.backoff > 3)
	c.cwnd.size = c.cwnd.mss
	c.duplicates, c.reorderAt, c.probeAt = 0, 0, 0
	c.rtoAt = c.now.Add(c.rtoNow())
}

// probeDelay is when to probe for the loss of a tail (RFC 8985, section 7.2).
func (c *Conn) probeDelay() time.Duration {
	if c.estimator.srtt == 0 {
		return rtoFirst
	}
	if c.flight.bytes <= c.cwnd.mss {
		return 2*c.estimator.srtt + rtoLeast // the peer may delay its acknowledgment
	}
	return 2*c.estimator.srtt + probeSlack
}

// probeSlack is what a probe waits for beyond two round trips: where those are short, a peer whose
// turn it is not is silent for longer, and nothing is lost (as Linux: two ticks of its clock).
const probeSlack = 4 * time.Millisecond

// probeAnswered decides a probe (RFC 8985, section 7.4).
func (c *Conn) probeAnswered(s *Segment, d *delivery) {
	if !c.probe.sent || s.Ack.Less(c.probe.end) {
		return
	}
	switch {
	case !c.probe.again, d.told: // what was new has come, or what was sent again has come twice
		c.probe = probe{}
	case c.probe.end.Less(s.Ack):
		// and it has come once: the probe mended a loss, which says something about the path
		c.probe = probe{}
		if c.phase == open {
			c.cwnd.threshold = c.control.threshold(&c.cwnd, c.now)
			c.cwnd.size = min(c.cwnd.size, c.cwnd.threshold)
		}
	case d.inOrder == 0 && len(s.Payload) == 0 && len(s.Options.SACKBlocks()) == 0:
		// twice, of a peer that does not tell of it
		c.probe = probe{}
	}
}
