package tcp

import (
	"time"

	"weir/wire"
)

// Arrive takes a segment that has come for this connection (RFC 9293, section 3.10.7). What it
// answers is sent by Output.
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

// inSynSent is section 3.10.7.3.
func (c *Conn) arriveInSynSent(s *Segment) {
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
	// RFC 7323, section 3.2: of an older connection
	if c.timestamps && s.Options.HasTimestamps && hasAck && !c.plausibleEcho(s.Options.TSEcr) {
		c.scheduleRST(s.Ack)
		return
	}
	c.applySYN(s)
	if !hasAck { // both opened at once
		c.state, c.synPending = SynReceived, true
		return
	}
	c.synAcknowledged(s)
	c.ackPending = true
	c.receivePayload(s.Seq.Add(1), s)
}

// plausible says whether we can have sent a timestamp by now.
func (c *Conn) plausibleEcho(echo wire.Timestamp) bool {
	return !c.tsNow().Less(echo) && c.tsNow().Since(echo, time.Millisecond) < 10*time.Minute
}

// synAcknowledged makes the connection ESTABLISHED.
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
	c.sndUna = s.Ack
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

// inSynchronized is section 3.10.7.4: the other states.
func (c *Conn) arriveSynchronized(s *Segment) {
	if c.state == SynReceived && s.Flags&wire.SYN != 0 && s.Flags&(wire.ACK|wire.RST) == 0 && s.Seq == c.irs {
		c.synPending = true // it was sent again: ours was lost
		return
	}
	if c.state == SynReceived && !c.passiveOpen && s.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN|wire.ACK && s.Seq == c.irs && s.Ack == c.sndNxt {
		c.synAcknowledged(s) // both opened at once
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

// old is PAWS (RFC 7323, section 5).
func (c *Conn) failsPAWS(s *Segment) bool {
	const forgotten = 24 * 24 * time.Hour
	return c.timestamps && s.Options.HasTimestamps && s.Options.TSVal.Less(c.tsRecent) && c.now.Sub(c.tsRecentAt) < forgotten
}

// acceptable says whether some of the segment lies in the window (section 3.10.7.4, first check).
func (c *Conn) acceptable(s *Segment) bool {
	window := max(0, c.rcvWndEdge.Sub(c.rcvNxt))
	first, length := s.Seq, s.End().Sub(s.Seq)
	switch {
	case length == 0 && window == 0:
		return first == c.rcvNxt
	case length == 0:
		return first.In(c.rcvNxt, window) || first == c.rcvNxt.Add(window) // at the edge, as Linux
	case window == 0:
		return false
	}
	return first.In(c.rcvNxt, window) || s.End().Add(-1).In(c.rcvNxt, window) || first.Less(c.rcvNxt) && c.rcvNxt.Add(window).Less(s.End())
}

// unacceptable answers what lies outside the window, unless that is RST. Its acknowledgment counts
// where the window is closed (section 3.10.7.4).
func (c *Conn) rejectUnacceptable(s *Segment) {
	if s.Flags&wire.RST != 0 {
		return
	}
	if len(s.Payload) > 0 && s.End().LessEq(c.rcvNxt) {
		c.pendingDSACK = wire.Block{First: s.Seq, End: s.End()} // RFC 2883: it came twice
		c.enterQuickACK()
	}
	// others could be anybody's, who need not guess then where the stream is
	recent := s.Seq.LessEq(c.rcvNxt) && c.rcvNxt.Sub(s.Seq) <= c.recvLimit
	if s.Flags&wire.ACK != 0 && s.Flags&wire.SYN == 0 && recent && c.state.synchronized() && c.acceptableACK(s.Ack) {
		c.handleACK(s)
	}
	c.scheduleChallengeACK()
}

// answer sends an acknowledgment to what is not acceptable, but not often (RFC 5961, section 7):
// two ends must not answer one another for ever.
func (c *Conn) scheduleChallengeACK() {
	if c.lastChallengeACKAt != 0 && c.now.Sub(c.lastChallengeACKAt) < challengeACKInterval {
		return
	}
	c.lastChallengeACKAt = c.now
	c.ackPending = true
}

// inRST is RFC 5961, section 3: only one that is exactly right ends the connection.
func (c *Conn) checkRST(s *Segment) {
	switch {
	case s.Seq != c.rcvNxt:
		c.scheduleChallengeACK()
	case c.state == SynReceived:
		c.fail(Refused)
	default:
		c.fail(Reset)
	}
}

// inSYN is RFC 5961, section 4: a SYN in the window is answered; a peer that has started anew
// answers that with RST.
func (c *Conn) checkSYN(*Segment) { c.scheduleChallengeACK() }

// inACK takes an acknowledgment, and then what the segment carries.
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

// acceptableACK reports whether an acknowledgment is of the last windows (RFC 5961, section 5).
func (c *Conn) acceptableACK(ack wire.Seq) bool {
	return ack.LessEq(c.sndNxt) && c.sndUna.Add(-c.maxSndWnd).LessEq(ack)
}

// takeACK takes an acceptable acknowledgment.
func (c *Conn) handleACK(s *Segment) {
	if s.Ack.Less(c.sndUna) {
		c.handleOldACK(s)
		return
	}
	c.handleCurrentACK(s)
}

// remember takes the peer's timestamp (RFC 7323, section 4.3).
func (c *Conn) updateTSRecent(s *Segment) {
	if c.timestamps && s.Options.HasTimestamps && s.Seq.LessEq(c.lastAckSent) { // it is not old
		c.tsRecent, c.tsRecentAt = s.Options.TSVal, c.now
	}
}

// answerRST has a RST sent to a segment that acknowledges what was never sent.
func (c *Conn) scheduleRST(ack wire.Seq) { c.rstPending, c.rstSeq, c.rstHasAck = true, ack, false }

// takePayload takes what a segment carries, its first byte at seq (section 3.10.7.4, seventh and
// eighth check).
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
		c.scheduleRST(s.Ack) // where the peer is in the stream: ours may not have come (as Linux)
		return
	}
	p := s.Payload
	if before := c.rcvNxt.Sub(seq); before > 0 { // it begins with what is here already
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

// store puts bytes where they belong, and says whether there was room.
func (c *Conn) storePayload(seq wire.Seq, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	offset := c.recvBuf.length + seq.Sub(c.rcvNxt)
	if !c.recvBuf.reserve(offset+len(p), max(c.occupied(), c.recvBuf.length), c.cfg.Memory) {
		c.dropForMemory()
		return false // as if it had been lost
	}
	end := seq.Add(len(p))
	if seq != c.rcvNxt {
		if held, ok := c.outOfOrder.containing(wire.Block{First: seq, End: end}); ok && held.First.LessEq(seq) {
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
		c.ackPending = true // a gap is filled, in part at least (RFC 5681, section 4.2)
	}
	c.recvBuf.length += next.Sub(c.rcvNxt)
	c.rcvNxt = next
	c.tune.measureRTT(c.rcvNxt, c.recvLimit, c.now)
	c.scheduleDataACK(len(p))
	c.events |= Readable
	return true
}

// received decides when to acknowledge bytes in order: at every second full segment, at once in the
// beginning, or a little later.
func (c *Conn) scheduleDataACK(n int) {
	c.unackedBytes += n
	if c.lastDataAt != 0 && c.now.Sub(c.lastDataAt) > c.estimator.rto {
		c.quickACKs = maxQuickACKs // the peer may have begun anew (as Linux)
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

// hurry has an acknowledgment sent now, and the next ones not delayed: the peer has lost something,
// or takes something for lost. Its window is small for a while, and an acknowledgment that is late
// by 40 ms is four round trips of a path of 10 ms (as Linux's tcp_enter_quickack_mode).
func (c *Conn) enterQuickACK() { c.ackPending, c.quickACKs = true, maxQuickACKs }

// inFIN takes the end of the peer's stream.
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
		c.state = Closing // if it was acknowledged, it is FIN-WAIT-2 by now
	case FinWait2:
		c.enterTimeWait()
	}
}

// timeWait ends the connection but for what may still come.
func (c *Conn) enterTimeWait() {
	c.state = TimeWait
	c.timers = timers{timeWaitEndsAt: c.now.Add(c.cfg.TimeWaitDuration)}
	c.timeWaitConn = &TimeWaitConn{ExpiresAt: c.timeWaitEndsAt, sndNxt: c.sndNxt, rcvNxt: c.rcvNxt, tsRecent: c.tsRecent, tsOffset: c.tsOffset, window: c.advertiseWindow(c.rcvScale), timestamps: c.timestamps}
	c.sendBuf.free(c.cfg.Memory)
	c.flight = flight{}
	c.events |= Readable | Writable
}
