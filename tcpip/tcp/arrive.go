package tcp

import (
	"time"

	"weir/wire"
)

// Arrive processes a segment of this connection (RFC 9293, section 3.10.7). Output sends the
// answers.
func (c *Conn) Arrive(now Time, s *Segment) {
	c.setNow(now)
	switch c.state {
	case Closed:
	case SynSent:
		c.arriveInSynSent(s)
	case TimeWait:
		if c.timeWaitConn.Arrive(c.cfg, now, s) {
			c.ackPending = true
		}
		c.timeWaitEndsAt = c.timeWaitConn.ExpiresAt
	default:
		c.arriveSynchronized(s)
	}
}

// arriveInSynSent processes a segment in SYN-SENT (RFC 9293, section 3.10.7.3).
func (c *Conn) arriveInSynSent(s *Segment) {
	if c.AwaitsData() {
		return // nothing was sent that this could answer
	}
	hasAck := s.Flags&wire.ACK != 0
	if hasAck && (s.Ack.LessEq(c.iss) || c.sndNxt.Less(s.Ack)) {
		if s.Flags&wire.RST == 0 {
			c.scheduleRST(s.Ack)
		}
		return
	}
	if s.Flags&wire.RST != 0 {
		if hasAck {
			c.fail(Refused)
		}
		return
	}
	if s.Flags&wire.SYN == 0 {
		return
	}
	// RFC 7323, section 3.2: the segment is of an older connection
	if c.timestamps && s.Options.HasTimestamps && hasAck && !c.plausibleEcho(s.Options.TSEcr) {
		c.scheduleRST(s.Ack)
		return
	}
	c.applySYN(s)
	if !hasAck { // simultaneous open
		c.state, c.synPending = SynReceived, true
		return
	}
	c.synAcknowledged(s)
	c.ackPending = true
	// the window that the SYN offered: data may follow before the acknowledgment of the SYN,ACK
	c.rcvWndEdge = c.rcvNxt.Add(int(synWindow(c.cfg)))
	c.receivePayload(s.Seq.Add(1), s)
}

// plausibleEcho reports whether an echoed timestamp is one that this end sent in the last ten
// minutes.
func (c *Conn) plausibleEcho(echo wire.Timestamp) bool {
	return !c.tsNow().Less(echo) && c.tsNow().Since(echo, time.Millisecond) < 10*time.Minute
}

// synAcknowledged enters ESTABLISHED, or FIN-WAIT-1 after CloseWrite, when our SYN is acknowledged.
func (c *Conn) synAcknowledged(s *Segment) {
	if c.synTransmits == 1 {
		c.estimator.addSample(c.now.Sub(c.synSentAt), c.now)
	} else if c.timestamps && s.Options.HasTimestamps && s.Options.TSEcr != 0 && c.plausibleEcho(s.Options.TSEcr) {
		c.estimator.addSample(c.tsNow().Since(s.Options.TSEcr, time.Millisecond), c.now)
	}
	if c.synTransmits > 1 { // RFC 6298, section 5.7, and RFC 5681, section 3.1
		c.estimator.rto = max(c.estimator.rto, 3*time.Second)
		c.cwnd.size = minCwndSegments * c.cwnd.mss
	}
	c.sndUna = c.iss.Add(1)
	if c.fastOpen != nil {
		c.synDataAcknowledged(s)
	}
	c.fack = c.sndUna
	c.sndWL1, c.sndWL2 = s.Seq, s.Ack
	c.rtoAt, c.rtoBackoff, c.synPending = 0, 0, false
	c.state = Established
	if c.finQueued {
		c.state = FinWait1
	}
	c.notePeerActivity()
	c.events |= Connected | Writable
}

// arriveSynchronized processes a segment in SYN-RECEIVED and the synchronized states (RFC 9293,
// section 3.10.7.4).
func (c *Conn) arriveSynchronized(s *Segment) {
	if c.state == SynReceived && s.Flags&wire.SYN != 0 && s.Flags&(wire.ACK|wire.RST) == 0 && s.Seq == c.irs {
		c.synPending = true // the peer retransmitted its SYN: our SYN,ACK was lost
		return
	}
	if c.state == SynReceived && !c.passiveOpen && s.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN|wire.ACK && s.Seq == c.irs && c.iss.Less(s.Ack) && s.Ack.LessEq(c.sndNxt) {
		c.synAcknowledged(s) // simultaneous open
		c.ackPending = true
		return
	}
	if s.Flags&wire.RST == 0 && c.failsPAWS(s) {
		c.scheduleChallengeACK()
		return
	}
	if !c.acceptable(s) {
		c.rejectUnacceptable(s)
		return
	}
	switch {
	case s.Flags&wire.RST != 0:
		c.checkRST(s)
	case s.Flags&wire.SYN != 0:
		c.checkSYN(s)
	case s.Flags&wire.ACK != 0:
		c.checkACK(s)
	}
}

// failsPAWS reports whether the segment is an old duplicate by its timestamp (PAWS: RFC 7323,
// section 5).
func (c *Conn) failsPAWS(s *Segment) bool {
	const outdated = 24 * 24 * time.Hour // TS.Recent is invalid then (RFC 7323, section 5.5)
	return c.timestamps && s.Options.HasTimestamps && s.Options.TSVal.Less(c.tsRecent) && c.now.Sub(c.tsRecentAt) < outdated
}

// acceptable reports whether part of the segment is in the receive window (RFC 9293, section
// 3.10.7.4, first check).
func (c *Conn) acceptable(s *Segment) bool {
	window := max(0, c.rcvWndEdge.Sub(c.rcvNxt))
	first, length := s.Seq, s.End().Sub(s.Seq)
	switch {
	case length == 0 && window == 0:
		return first == c.rcvNxt
	case length == 0:
		// Linux accepts one at the edge too
		return first.InWindow(c.rcvNxt, window) || first == c.rcvNxt.Add(window)
	case window == 0:
		return false
	}
	return first.InWindow(c.rcvNxt, window) || s.End().Add(-1).InWindow(c.rcvNxt, window) || first.Less(c.rcvNxt) && c.rcvNxt.Add(window).Less(s.End())
}

// rejectUnacceptable answers a segment outside the receive window, unless it is a RST. Its
// acknowledgment still counts if it is recent: RFC 9293, section 3.10.7.4, requires that when the
// window is zero.
func (c *Conn) rejectUnacceptable(s *Segment) {
	if s.Flags&wire.RST != 0 {
		return
	}
	if len(s.Payload) > 0 && s.End().LessEq(c.rcvNxt) {
		c.pendingDSACK = wire.Block{First: s.Seq, End: s.End()} // RFC 2883: a duplicate
		c.enterQuickACK()
	}
	// Other segments may be forged by a sender that does not know the sequence numbers. A peer may
	// have sent up to the edge that the window had before it was shut.
	recent := c.rcvNxt.Sub(s.Seq) <= c.recvLimit && (s.Seq.LessEq(c.rcvNxt) || c.windowShut && s.Seq.Sub(c.rcvNxt) <= c.recvLimit)
	if s.Flags&wire.ACK != 0 && s.Flags&wire.SYN == 0 && recent && c.state.synchronized() && c.acceptableACK(s.Ack) {
		c.handleACK(s)
	}
	c.scheduleChallengeACK()
}

// scheduleChallengeACK schedules an acknowledgment of an unacceptable segment, at most one each
// challengeACKInterval (RFC 5961, section 7). Without the limit, two ends could answer each other
// for ever.
func (c *Conn) scheduleChallengeACK() {
	if c.lastChallengeACKAt != 0 && c.now.Sub(c.lastChallengeACKAt) < challengeACKInterval {
		return
	}
	c.lastChallengeACKAt = c.now
	c.ackPending = true
}

// checkRST ends the connection if SEG.SEQ is exactly RCV.NXT, and sends a challenge ACK otherwise
// (RFC 5961, section 3).
func (c *Conn) checkRST(s *Segment) {
	switch {
	case s.Seq != c.rcvNxt:
		c.scheduleChallengeACK()
	case c.state == SynReceived && !c.Accepted():
		c.fail(Refused)
	default:
		c.fail(Reset)
	}
}

// checkSYN sends a challenge ACK for a SYN in the window (RFC 5961, section 4). A peer that has
// restarted answers it with a RST.
func (c *Conn) checkSYN(*Segment) { c.scheduleChallengeACK() }

// checkACK processes the acknowledgment of a segment, and then its payload.
func (c *Conn) checkACK(s *Segment) {
	if c.state == SynReceived {
		if s.Ack.LessEq(c.sndUna) || c.sndNxt.Less(s.Ack) {
			c.scheduleRST(s.Ack)
			return
		}
		c.sndWnd = int(s.Window) << c.sndScale
		c.maxSndWnd = c.sndWnd
		c.synAcknowledged(s)
	}
	if !c.acceptableACK(s.Ack) {
		c.scheduleChallengeACK()
		return
	}
	c.notePeerActivity()
	c.updateTSRecent(s)
	if s.Flags&wire.URG != 0 {
		c.receiveUrgent(s)
	}
	c.handleACK(s)
	if c.ecn.negotiated {
		c.processECN(s)
	}
	c.adoptPeerUserTimeout(s.Options.UserTimeout)
	if c.state != Closed {
		c.receivePayload(s.Seq, s)
	}
}

// acceptableACK reports whether SND.UNA - MAX.SND.WND <= SEG.ACK <= SND.NXT (RFC 5961, section 5).
func (c *Conn) acceptableACK(ack wire.Seq) bool {
	return ack.LessEq(c.sndNxt) && c.sndUna.Add(-c.maxSndWnd).LessEq(ack)
}

// handleACK processes an acceptable acknowledgment.
func (c *Conn) handleACK(s *Segment) {
	if s.Ack.Less(c.sndUna) {
		c.handleOldACK(s)
		return
	}
	c.handleCurrentACK(s)
}

// updateTSRecent stores the peer's timestamp as TS.Recent (RFC 7323, section 4.3).
func (c *Conn) updateTSRecent(s *Segment) {
	// PAWS has checked that it is not older than TS.Recent
	if c.timestamps && s.Options.HasTimestamps && s.Seq.LessEq(c.lastAckSent) {
		c.tsRecent, c.tsRecentAt = s.Options.TSVal, c.now
	}
}

// scheduleRST schedules a RST in answer to a segment that acknowledges data never sent.
func (c *Conn) scheduleRST(ack wire.Seq) { c.rstPending, c.rstSeq, c.rstHasAck = true, ack, false }

// receivePayload processes the payload and FIN of a segment, whose first byte is at seq (RFC 9293,
// section 3.10.7.4, seventh and eighth check).
func (c *Conn) receivePayload(seq wire.Seq, s *Segment) {
	fin := s.Flags&wire.FIN != 0
	if len(s.Payload) == 0 && !fin {
		return
	}
	if c.state != Established && c.state != FinWait1 && c.state != FinWait2 {
		return
	}
	if c.orphaned && len(s.Payload) > 0 && c.rcvNxt.Less(seq.Add(len(s.Payload))) {
		c.fail(Aborted)
		// SEG.ACK, as in Linux: the peer may not have received all that we sent
		c.scheduleRST(s.Ack)
		return
	}
	p := s.Payload
	if before := c.rcvNxt.Sub(seq); before > 0 { // the segment starts with data received before
		c.pendingDSACK = wire.Block{First: seq, End: seq.Add(min(before, len(p)))}
		c.enterQuickACK()
		p, seq = p[min(before, len(p)):], c.rcvNxt
	}
	if beyond := seq.Add(len(p)).Sub(c.rcvWndEdge); beyond > 0 {
		p, fin = p[:max(0, len(p)-beyond)], false
	}
	whole := c.storePayload(seq, p)
	if fin && whole {
		c.finSeq, c.finKnown = seq.Add(len(p)), true
	}
	if c.finKnown && c.rcvNxt == c.finSeq {
		c.handleFIN()
	}
}

// storePayload copies bytes into the receive buffer, in order or beyond a gap, and reports whether
// there was room.
func (c *Conn) storePayload(seq wire.Seq, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	offset := c.recvBuf.length + seq.Sub(c.rcvNxt)
	if !c.recvBuf.reserve(offset+len(p), max(c.occupied(), c.recvBuf.length), c.memory()) {
		c.dropForMemory()
		return false // as if the network had lost it
	}
	end := seq.Add(len(p))
	if seq != c.rcvNxt {
		if block, ok := c.outOfOrder.containing(wire.Block{First: seq, End: end}); ok && block.First.LessEq(seq) {
			c.pendingDSACK = wire.Block{First: seq, End: end}
		}
		c.enterQuickACK()
		if c.outOfOrder.add(wire.Block{First: seq, End: end}) {
			c.recvBuf.put(offset, p)
			return true
		}
		return false
	}
	if c.lendPayload && len(c.outOfOrder.blocks) == 0 {
		c.recvBuf.lend(p)
	} else {
		c.recvBuf.copyLent()
		c.recvBuf.put(offset, p)
	}
	next := end
	if len(c.outOfOrder.blocks) > 0 {
		next = c.outOfOrder.mergeFrom(end)
		c.ackPending = true // the segment fills part of a gap (RFC 5681, section 4.2)
	}
	c.recvBuf.length += next.Sub(c.rcvNxt)
	c.receivedTotal += uint64(next.Sub(c.rcvNxt))
	c.rcvNxt = next
	c.tune.measureRTT(c.rcvNxt, c.recvLimit, c.now)
	c.scheduleDataACK(len(p))
	c.events |= Readable
	return true
}

// scheduleDataACK schedules the acknowledgment of n bytes received in order: at once for every
// second full segment and for quick ACKs, otherwise delayed (RFC 9293, section 3.8.6.3).
func (c *Conn) scheduleDataACK(n int) {
	c.unackedBytes += n
	if c.lastDataAt != 0 && c.now.Sub(c.lastDataAt) > c.estimator.rto {
		c.quickACKs = maxQuickACKs // the peer may be in slow start after idling (as in Linux)
	}
	c.lastDataAt = c.now
	switch {
	case c.quickACKs > 0:
		c.quickACKs--
		c.ackPending = true
	case c.unackedBytes >= 2*c.mss:
		c.ackPending = true
	case c.delayedACKAt == 0:
		c.delayedACKAt = c.now.Add(delayedACKTimeout)
	}
}

// enterQuickACK schedules an acknowledgment now and does not delay the next ones. The peer has lost
// or retransmitted a segment, so its window is small, and a delay of 40 ms is four round trips of a
// 10 ms path (Linux's tcp_enter_quickack_mode).
func (c *Conn) enterQuickACK() { c.ackPending, c.quickACKs = true, maxQuickACKs }

// handleFIN processes the peer's FIN once all data before it was received.
func (c *Conn) handleFIN() {
	if c.finReceived {
		return
	}
	c.rcvNxt = c.rcvNxt.Add(1)
	c.finReceived, c.ackPending = true, true
	c.events |= Readable
	switch c.state {
	case Established:
		c.state = CloseWait
	case FinWait1:
		c.state = Closing // had our FIN been acknowledged, the state would be FIN-WAIT-2
	case FinWait2:
		c.enterTimeWait()
	}
}

// enterTimeWait enters TIME-WAIT and frees what only sending needs.
func (c *Conn) enterTimeWait() {
	c.state = TimeWait
	c.timers = timers{timeWaitEndsAt: c.now.Add(c.cfg.TimeWaitDuration)}
	c.timeWaitConn = &TimeWaitConn{ExpiresAt: c.timeWaitEndsAt, sndNxt: c.sndNxt, rcvNxt: c.rcvNxt, tsRecent: c.tsRecent, tsOffset: c.tsOffset, window: c.advertiseWindow(c.rcvScale), timestamps: c.timestamps}
	c.sendBuf.free(c.memory())
	c.flight = flight{}
	c.events |= Readable | Writable
}
