package tcp

import (
	"time"

	"weir/wire"
)

// phase is what the sender does about losses.
type recoveryPhase uint8

const (
	phaseOpen recoveryPhase = iota // nothing is lost, as far as is known
	// fast recovery: what is lost is sent again as room comes (RFC 6675, RFC 6937)
	phaseRecovery
	// nothing was heard for too long: everything is sent again, slowly at first
	phaseLoss
)

// recovery is a sender's loss recovery.
type recovery struct {
	rack
	phase         recoveryPhase
	recoveryPoint wire.Seq // behind what was sent when it began: there it ends
	dupACKs       int      // acknowledgments in a row that said nothing new, of a peer without SACK
	rtoBackoff    int      // timeouts in a row
	roundEnd      wire.Seq // a round trip of the congestion control ends when this is acknowledged
	prr           prr
	tlp           tailLossProbe
	undoState     undoState
}

// prr is proportional rate reduction (RFC 6937): how much may be sent in a recovery.
type prr struct{ delivered, out, recoverFS int }

// probe is a tail loss probe (RFC 8985, section 7).
type tailLossProbe struct {
	endSeq       wire.Seq // behind it
	outstanding  bool     // it was, and is not decided yet
	isRetransmit bool     // it sent something again
}

// before is what was when a recovery began, to go back to if nothing was lost (RFC 3522, RFC 4015).
type undoState struct {
	cwnd, ssthresh int
	// of the first segment that was sent again; 0: none was, or there are no timestamps
	firstRetransmitTS wire.Timestamp
}

const dupACKThreshold = 3

// recover finds out what is lost, and how much may be sent now.
func (c *Conn) updateRecovery(d *delivery) {
	if c.phase != phaseOpen && c.isSpurious(d) {
		c.undoRecovery()
	}
	if c.phase != phaseOpen && c.recoveryPoint.LessEq(c.sndUna) {
		c.exitRecovery()
	}
	lost := c.detectLoss(d)
	switch {
	case lost && c.phase == phaseOpen:
		c.enterRecovery(phaseRecovery)
	case c.phase == phaseOpen || c.phase == phaseLoss:
		c.growCwnd(d)
	}
	if c.phase == phaseRecovery {
		c.applyPRR(d, lost)
	}
}

// detect marks what is lost, and says whether there is anything new.
func (c *Conn) detectLoss(d *delivery) bool {
	if c.flight.empty() {
		c.reorderAt = 0
		return false
	}
	if !c.sackPermitted {
		return c.detectLossByDupACKs(d)
	}
	impatient := c.phase != phaseOpen || c.flight.sackedBytes >= dupACKThreshold*c.cwnd.mss
	wait, lost := c.rack.detect(&c.flight, c.rack.reoWnd(&c.estimator, impatient), c.now)
	c.reorderAt = 0
	if wait > 0 {
		c.reorderAt = c.now.Add(wait)
	}
	return lost
}

// detectByDuplicates is NewReno (RFC 6582): three duplicates, and in a recovery every
// acknowledgment of a part, say that the first piece is lost.
func (c *Conn) detectLossByDupACKs(d *delivery) bool {
	at := piecePos{c.flight.firstSlot, 0}
	first := c.flight.pieceAt(at)
	partial := c.phase == phaseRecovery && d.ackedBytes > 0
	if first.state == presumedLost || !partial && (c.phase != phaseOpen || c.dupACKs < dupACKThreshold) {
		return false
	}
	if first.len() > c.cwnd.mss {
		c.flight.splitPiece(at, first.seq.Add(c.cwnd.mss))
		first = c.flight.pieceAt(at)
	}
	c.flight.markLost(first)
	return true
}

// enter begins a recovery.
func (c *Conn) enterRecovery(to recoveryPhase) {
	if c.phase == phaseOpen {
		c.undoState = undoState{cwnd: c.cwnd.size, ssthresh: c.cwnd.ssthresh}
	}
	if c.phase != phaseRecovery || to != phaseLoss || c.sndUna == c.recoveryPoint {
		c.cwnd.ssthresh = c.congestion.onLoss(&c.cwnd, c.now)
	}
	if to == phaseLoss {
		c.congestion.onTimeout()
	}
	c.phase, c.recoveryPoint = to, c.sndNxt
	c.ecn.sendCWR = c.ecn.negotiated
	c.prr = prr{recoverFS: max(c.flight.totalBytes, 1)}
	c.tlp = tailLossProbe{}
}

// reduce is RFC 6937, with the conservative bound unless nothing more was lost.
func (c *Conn) applyPRR(d *delivery, lost bool) {
	delivered := d.deliveredBytes
	if !c.sackPermitted && delivered == 0 && c.dupACKs > 0 {
		delivered = c.cwnd.mss // a duplicate says that a segment has left the network
	}
	c.prr.delivered += delivered
	pipe := c.flight.pipe()
	if !c.sackPermitted {
		pipe = max(0, pipe-c.dupACKs*c.cwnd.mss)
	}
	var allowed int
	if pipe > c.cwnd.ssthresh {
		arrived, flight := int64(c.prr.delivered), int64(c.prr.recoverFS)
		allowed = int((arrived*int64(c.cwnd.ssthresh)+flight-1)/flight) - c.prr.out
	} else {
		allowed = max(c.prr.delivered-c.prr.out, delivered)
		if d.ackedBytes > 0 && !lost {
			allowed += c.cwnd.mss
		}
		allowed = min(c.cwnd.ssthresh-pipe, allowed)
	}
	if c.prr.out == 0 || lost && !c.sackPermitted {
		allowed = max(allowed, c.cwnd.mss) // the first goes in any case, and NewReno's next
	}
	c.cwnd.size = max(c.flight.pipe()+max(allowed, 0), c.cwnd.mss)
}

// recovered ends a recovery.
func (c *Conn) exitRecovery() {
	if c.phase == phaseRecovery {
		c.cwnd.size = max(min(c.cwnd.ssthresh, c.flight.pipe()+4*c.cwnd.mss), minCwndSegments*c.cwnd.mss)
		c.cwnd.size = max(c.cwnd.size, min(c.cwnd.ssthresh, c.undoState.cwnd))
	}
	c.phase, c.dupACKs = phaseOpen, 0
	c.undoState.firstRetransmitTS = 0
	c.rack.onRecoveryEnd()
}

// grow opens the window when it was what held the sender back.
func (c *Conn) growCwnd(d *delivery) {
	if d.ackedBytes == 0 || d.ece {
		return
	}
	round := c.roundEnd.LessEq(c.sndUna)
	if round {
		c.roundEnd = c.sndNxt
	}
	if c.cwndUsage.cwndLimited || c.cwnd.inSlowStart() && 2*c.cwndUsage.maxInFlight > c.cwnd.size {
		c.congestion.onAck(&c.cwnd, ackEvent{now: c.now, bytes: d.ackedBytes, rtt: d.rtt, roundStart: round})
	}
}

// spurious says whether an acknowledgment answers what was sent before it was sent again: it was
// not lost.
func (c *Conn) isSpurious(d *delivery) bool {
	return c.undoState.firstRetransmitTS != 0 && d.ackedBytes > 0 && d.hasTimestamp && d.tsEcr != 0 && d.tsEcr.Less(c.undoState.firstRetransmitTS)
}

// undo goes back to where a recovery began that was for nothing.
func (c *Conn) undoRecovery() {
	c.flight.clearLost()
	c.cwnd.size, c.cwnd.ssthresh = max(c.cwnd.size, c.undoState.cwnd), max(c.cwnd.ssthresh, c.undoState.ssthresh)
	c.congestion.undo()
	c.phase, c.rtoBackoff, c.undoState.firstRetransmitTS = phaseOpen, 0, 0
}

// timeout is the retransmission timer's (RFC 6298, section 5; RFC 8985, section 6.3): all that is
// not known to have come is lost.
func (c *Conn) retransmitTimeout() {
	c.rtoBackoff++
	if c.phase != phaseLoss || c.rtoBackoff == 1 {
		c.enterRecovery(phaseLoss)
	}
	// A receiver may take back what it told by SACK, and has done so if that is where the window
	// begins (RFC 2018, section 8).
	takenBack := !c.flight.empty() && c.flight.pieceAt(piecePos{c.flight.firstSlot, 0}).state == sackedByPeer
	c.flight.markAllLost(takenBack || c.rtoBackoff > 3)
	c.cwnd.size = c.cwnd.mss
	c.dupACKs, c.reorderAt, c.ptoAt = 0, 0, 0
	c.rtoAt = c.now.Add(c.currentRTO())
}

// probeDelay is when to probe for the loss of a tail (RFC 8985, section 7.2).
func (c *Conn) pto() time.Duration {
	if c.estimator.srtt == 0 {
		return initialRTO
	}
	if c.flight.totalBytes <= c.cwnd.mss {
		return 2*c.estimator.srtt + minRTO // the peer may delay its acknowledgment
	}
	return 2*c.estimator.srtt + ptoSlack
}

// probeSlack is what a probe waits for beyond two round trips: where those are short, a peer whose
// turn it is not is silent for longer, and nothing is lost (as Linux: two ticks of its clock).
const ptoSlack = 4 * time.Millisecond

// probeAnswered decides a probe (RFC 8985, section 7.4).
func (c *Conn) processTLPAck(s *Segment, d *delivery) {
	if !c.tlp.outstanding || s.Ack.Less(c.tlp.endSeq) {
		return
	}
	switch {
	case !c.tlp.isRetransmit, d.dsackSeen: // what was new has come, or what was sent again has come twice
		c.tlp = tailLossProbe{}
	case c.tlp.endSeq.Less(s.Ack):
		// and it has come once: the probe mended a loss, which says something about the path
		c.tlp = tailLossProbe{}
		if c.phase == phaseOpen {
			c.cwnd.ssthresh = c.congestion.onLoss(&c.cwnd, c.now)
			c.cwnd.size = min(c.cwnd.size, c.cwnd.ssthresh)
		}
	case d.ackedBytes == 0 && len(s.Payload) == 0 && len(s.Options.SACKBlocks()) == 0:
		// twice, of a peer that does not tell of it
		c.tlp = tailLossProbe{}
	}
}
