package tcp

import (
	"time"

	"weir/wire"
)

// recoveryPhase is the state of the sender's loss recovery.
type recoveryPhase uint8

const (
	phaseOpen recoveryPhase = iota // no loss is known
	// fast recovery: lost data is retransmitted at the rate of PRR (RFC 6675, RFC 6937)
	phaseRecovery
	// after an RTO: everything is retransmitted in slow start (RFC 5681)
	phaseLoss
)

// recovery is a sender's loss recovery.
type recovery struct {
	rack
	phase         recoveryPhase
	recoveryPoint wire.Seq // SND.NXT at the start of the recovery, which ends there (RFC 6675)
	dupACKs       int      // consecutive duplicate ACKs; only without SACK
	rtoBackoff    int      // consecutive retransmission timeouts
	roundEnd      wire.Seq // the congestion control's round ends when this is acknowledged
	prr           prr
	tlp           tailLossProbe
	undoState     undoState
}

// prr is proportional rate reduction (RFC 6937), in bytes: prr_delivered, prr_out and RecoverFS.
type prr struct{ delivered, out, recoverFS int }

// tailLossProbe is the latest tail loss probe (RFC 8985, section 7).
type tailLossProbe struct {
	endSeq       wire.Seq // TLP.end_seq: SND.NXT when it was sent
	outstanding  bool     // it was sent, and no acknowledgment has decided its outcome
	isRetransmit bool     // TLP.is_retrans: it repeated a segment
}

// undoState is what a spurious recovery returns to (RFC 3522, RFC 4015).
type undoState struct {
	cwnd, ssthresh int  // before the recovery, in bytes
	reduced        bool // the congestion control has reduced the window
	// firstRetransmitTS is the timestamp of the first retransmission; 0: there was none, or
	// timestamps are off.
	firstRetransmitTS wire.Timestamp
}

// dupACKThreshold is how many duplicate ACKs indicate a loss (RFC 5681, section 3.2).
const dupACKThreshold = 3

// updateRecovery detects losses after an acknowledgment, and sets the congestion window.
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
		c.startRecovery()
	case c.phase == phaseOpen || c.phase == phaseLoss:
		c.growCwnd(d)
	}
	if c.phase == phaseRecovery {
		c.applyPRR(d, lost)
	}
}

// detectLoss marks lost data, and reports whether any is newly lost.
func (c *Conn) detectLoss(d *delivery) bool {
	if c.flight.empty() {
		c.reorderAt = 0
		return false
	}
	if !c.sackPermitted {
		return c.detectLossByDupACKs(d)
	}
	noDelay := c.phase != phaseOpen || c.flight.sackedBytes >= dupACKThreshold*c.cwnd.mss
	wait, lost := c.rack.detect(&c.flight, c.rack.reoWnd(&c.estimator, noDelay), c.now)
	c.reorderAt = 0
	if wait > 0 {
		c.reorderAt = c.now.Add(wait)
	}
	return lost
}

// detectLossByDupACKs is NewReno (RFC 6582): three duplicate ACKs, and each partial acknowledgment
// in recovery, mark the first piece as lost. It reports whether one is newly lost.
func (c *Conn) detectLossByDupACKs(d *delivery) bool {
	at := piecePos{c.flight.firstSlot, 0}
	first := c.flight.pieceAt(at)
	// several segments of a lost probe are sent again at once: the second one is on its way
	partial := c.phase == phaseRecovery && d.ackedBytes > 0 && first.retransmits == 0
	if first.state == presumedLost || !partial && (c.phase != phaseOpen || c.dupACKs < dupACKThreshold) {
		return false
	}
	if size := max(c.cwnd.mss, int(first.segmentSize)); first.len() > size {
		c.flight.splitPiece(at, first.seq.Add(size))
		first = c.flight.pieceAt(at)
	}
	c.flight.markLost(first)
	return true
}

// startRecovery starts fast recovery after a loss.
func (c *Conn) startRecovery() {
	if !c.probeLost() {
		c.enterRecovery(phaseRecovery)
		return
	}
	c.search.fail(c.now)
	c.recoverUncongested()
}

// enterRecovery starts fast recovery or, after an RTO, loss recovery by slow start.
func (c *Conn) enterRecovery(to recoveryPhase) {
	c.endProbe(to == phaseLoss)
	if c.phase == phaseOpen {
		c.undoState = undoState{cwnd: c.cwnd.size, ssthresh: c.cwnd.ssthresh}
	}
	if c.phase != phaseRecovery || to != phaseLoss || c.sndUna == c.recoveryPoint {
		c.cwnd.ssthresh = c.congestion.onLoss(&c.cwnd, c.now)
		c.undoState.reduced = true
	}
	if to == phaseLoss {
		c.congestion.onTimeout()
	}
	c.phase, c.recoveryPoint = to, c.sndNxt
	c.ecn.sendCWR = c.ecn.negotiated
	c.prr = prr{recoverFS: max(c.flight.totalBytes, 1)}
	c.tlp = tailLossProbe{}
}

// applyPRR sets the congestion window by proportional rate reduction (RFC 6937): with the
// conservative reduction bound if more was lost, otherwise with the slow start bound.
func (c *Conn) applyPRR(d *delivery, lost bool) {
	delivered := d.deliveredBytes
	if !c.sackPermitted && delivered == 0 && c.dupACKs > 0 {
		delivered = c.cwnd.mss // a duplicate ACK shows that a segment has left the network
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
		// always allow the first retransmission, and NewReno's next
		allowed = max(allowed, c.cwnd.mss)
	}
	c.cwnd.size = max(c.flight.pipe()+max(allowed, 0), c.cwnd.mss)
}

// exitRecovery ends a recovery.
func (c *Conn) exitRecovery() {
	if c.phase == phaseRecovery {
		c.cwnd.size = max(min(c.cwnd.ssthresh, c.flight.pipe()+4*c.cwnd.mss), minCwndSegments*c.cwnd.mss)
		c.cwnd.size = max(c.cwnd.size, min(c.cwnd.ssthresh, c.undoState.cwnd))
	}
	c.phase, c.dupACKs = phaseOpen, 0
	c.undoState.firstRetransmitTS = 0
	c.rack.onRecoveryEnd()
}

// growCwnd grows the congestion window if it was what limited the sender.
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

// isSpurious reports whether an acknowledgment echoes a timestamp from before the first
// retransmission: the original arrived (Eifel detection, RFC 3522).
func (c *Conn) isSpurious(d *delivery) bool {
	return c.undoState.firstRetransmitTS != 0 && d.ackedBytes > 0 && d.hasTimestamp && d.tsEcr != 0 && d.tsEcr.Less(c.undoState.firstRetransmitTS)
}

// undoRecovery restores the state from before a spurious recovery (RFC 4015).
func (c *Conn) undoRecovery() {
	c.flight.clearLost()
	c.cwnd.size, c.cwnd.ssthresh = max(c.cwnd.size, c.undoState.cwnd), max(c.cwnd.ssthresh, c.undoState.ssthresh)
	if c.undoState.reduced {
		c.congestion.undo()
	}
	c.phase, c.rtoBackoff, c.undoState.firstRetransmitTS = phaseOpen, 0, 0
}

// retransmitTimeout handles an expired retransmission timer (RFC 6298, section 5; RFC 8985, section
// 6.3): everything in flight that is not SACKed counts as lost.
func (c *Conn) retransmitTimeout() {
	c.rtoBackoff++
	if c.phase != phaseLoss || c.rtoBackoff == 1 {
		c.enterRecovery(phaseLoss)
	}
	c.detectBlackHole()
	// A receiver may renege: discard data that it has SACKed. It has, if SND.UNA is SACKed (RFC
	// 2018, section 8).
	reneged := !c.flight.empty() && c.flight.pieceAt(piecePos{c.flight.firstSlot, 0}).state == sackedByPeer
	c.flight.markAllLost(reneged || c.rtoBackoff > 3)
	c.cwnd.size = c.cwnd.mss
	c.dupACKs, c.reorderAt, c.ptoAt = 0, 0, 0
	c.rtoAt = c.now.Add(c.currentRTO())
}

// pto is the probe timeout, PTO (RFC 8985, section 7.2).
func (c *Conn) pto() time.Duration {
	if c.estimator.srtt == 0 {
		return initialRTO
	}
	if c.flight.totalBytes <= c.cwnd.mss {
		return 2*c.estimator.srtt + minRTO // the peer may delay its acknowledgment
	}
	return 2*c.estimator.srtt + ptoSlack
}

// ptoSlack is what the PTO adds to two round trips. On a short path a peer can be silent for longer
// because of scheduling, without a loss (as in Linux: two ticks of its clock).
const ptoSlack = 4 * time.Millisecond

// processTLPAck decides the outcome of a tail loss probe (RFC 8985, section 7.4).
func (c *Conn) processTLPAck(s *Segment, d *delivery) {
	if !c.tlp.outstanding || s.Ack.Less(c.tlp.endSeq) {
		return
	}
	switch {
	case !c.tlp.isRetransmit, d.dsackSeen: // new data arrived, or a repeat arrived twice
		c.tlp = tailLossProbe{}
	case c.tlp.endSeq.Less(s.Ack):
		// the repeated segment arrived once: the probe repaired a loss, so reduce the window
		c.tlp = tailLossProbe{}
		if c.phase == phaseOpen {
			c.cwnd.ssthresh = c.congestion.onLoss(&c.cwnd, c.now)
			c.cwnd.size = min(c.cwnd.size, c.cwnd.ssthresh)
		}
	case d.ackedBytes == 0 && len(s.Payload) == 0 && len(s.Options.SACKBlocks()) == 0:
		// a duplicate ACK: it arrived twice, at a peer that sends no DSACK
		c.tlp = tailLossProbe{}
	}
}
