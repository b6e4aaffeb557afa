package tcp

import "weir/wire"

// Output sends what is due. Call it after every other call, or once after several, so that one
// acknowledgment covers them all.
func (c *Conn) Output(now Time, emit Emit) {
	c.setNow(now)
	switch {
	case c.rstPending:
		c.sendRST(emit)
		return
	case c.state == Closed:
		return
	case c.state == SynSent || c.state == SynReceived:
		c.ackPending = false // the SYN carries the acknowledgment, if there is one
		if c.synPending {
			c.sendSYN(emit)
		}
		c.sendEarly(emit)
		return
	}
	c.transmit(emit)
	if c.windowProbePending {
		c.windowProbePending = false
		// unacceptable, so that the peer answers (as in Linux)
		s := c.newSegment(wire.ACK, c.sndUna.Add(-1))
		c.emit(s, emit)
	}
	if c.ackPending {
		s := c.newSegment(wire.ACK, c.acceptableSeq())
		c.addUserTimeoutOption(&s.Options)
		c.emit(s, emit)
	}
}

// newSegment returns a segment with the fields that all segments have.
func (c *Conn) newSegment(flags wire.Flags, seq wire.Seq) *OutSegment {
	s := &c.outSegment
	*s = OutSegment{Seq: seq, Flags: flags, Ack: c.rcvNxt, Window: c.advertiseWindow(c.rcvScale)}
	if c.timestamps {
		s.Options.HasTimestamps, s.Options.TSVal, s.Options.TSEcr = true, c.tsNow(), c.tsRecent
	}
	c.addSACKBlocks(&s.Options)
	if c.urgent.sndUrgent {
		c.urgent.setPointer(s)
	}
	if c.ecn.sendECE {
		s.Flags |= wire.ECE
	}
	return s
}

// addSACKBlocks adds the DSACK block, if a duplicate was received, and the blocks of out-of-order
// data.
func (c *Conn) addSACKBlocks(o *wire.TCPOptions) {
	if !c.sackPermitted || c.pendingDSACK.First == c.pendingDSACK.End && len(c.outOfOrder.blocks) == 0 {
		return
	}
	limit := wire.MaxSACK
	if c.timestamps {
		limit--
	}
	at := uint8(0)
	if c.pendingDSACK.First != c.pendingDSACK.End {
		o.SACK[0], at = c.pendingDSACK, 1
	}
	blocks, n := c.outOfOrder.recentBlocks(limit - int(at))
	copy(o.SACK[at:], blocks[:n])
	o.SACKCount = at + n
}

// emit sends a segment, and records what it acknowledges.
func (c *Conn) emit(s *OutSegment, emit Emit) {
	c.lastSentAt = c.now
	if s.Flags&wire.ACK != 0 {
		c.lastAckSent, c.unackedBytes, c.delayedACKAt, c.ackPending = s.Ack, 0, 0, false
		c.pendingDSACK = wire.Block{}
	}
	emit(s)
}

func (c *Conn) sendRST(emit Emit) {
	c.rstPending = false
	s := OutSegment{Seq: c.rstSeq, Flags: wire.RST}
	if c.rstHasAck {
		s.Ack, s.Flags = c.rcvNxt, wire.RST|wire.ACK
	}
	if c.timestamps && c.state != SynSent { // only after negotiation (RFC 7323, section 3.2)
		s.Options.HasTimestamps, s.Options.TSVal, s.Options.TSEcr = true, c.tsNow(), c.tsRecent
	}
	emit(&s)
}

// sendSYN sends a SYN, or SYN,ACK in SYN-RECEIVED, and starts the retransmission timer.
func (c *Conn) sendSYN(emit Emit) {
	c.synPending = false
	s := OutSegment{Seq: c.iss, Flags: wire.SYN | c.synECNFlags()}
	if c.state == SynReceived {
		s.Flags |= wire.ACK
		s.Ack = c.rcvNxt
	}
	o := &s.Options
	o.MSS = uint16(c.cfg.MSS)
	o.SACKPermitted = c.sackPermitted
	o.HasTimestamps = c.timestamps
	if c.timestamps {
		o.TSVal, o.TSEcr = c.tsNow(), c.tsRecent
	}
	o.HasWindowScale = c.rcvScale > 0 || c.state == SynSent && !c.cfg.NoWindowScaling
	o.WindowScale = c.rcvScale
	if c.cfg.AdvertiseUserTimeout {
		o.UserTimeout = c.cfg.UserTimeout
	}
	s.Window = synWindow(c.cfg)
	if c.state == SynReceived {
		s.Window = uint16(min(int(s.Window), max(0, c.recvLimit-c.recvBuf.length)))
		c.rcvWndEdge = c.rcvWndEdge.Max(c.rcvNxt.Add(int(s.Window)))
		c.lastAckSent = c.rcvNxt
	}
	if c.fastOpen != nil {
		c.addFastOpen(&s)
	}
	if c.synTransmits == 0 {
		c.synSentAt = c.now
	} else {
		c.retransmittedSegments++
	}
	c.synTransmits++
	if c.rtoAt == 0 || c.rtoAt.due(c.now) { // it runs on when a repeated SYN is answered
		c.rtoAt = c.now.Add(c.currentRTO())
	}
	c.lastSentAt = c.now
	c.outSegment = s
	emit(&c.outSegment)
}

// synWindow is the window that a SYN offers, which is not scaled.
func synWindow(cfg *Config) uint16 { return uint16(min(cfg.ReceiveBuffer.Initial, 65535)) }

// hasUnsent reports whether there is data or a FIN that was never sent.
func (c *Conn) hasUnsent() bool { return c.unsentBytes() > 0 || c.finQueued && !c.finSent() }

// transmit sends lost data again, then new data, as the windows allow.
func (c *Conn) transmit(emit Emit) {
	c.pacing.timerWasSet, c.paceAt = c.paceAt != 0, 0
	if c.state == TimeWait || c.state == FinWait2 {
		return
	}
	sentAny := false
	if c.tlpPending {
		c.tlpPending = false
		sentAny = c.sendTLP(emit)
	}
	for c.flight.lostBytes > 0 && c.retransmitLost(emit) {
		sentAny = true
	}
	c.decayIdleCwnd()
	for c.flight.lostBytes == 0 && c.hasUnsent() && c.sendNew(emit) {
		sentAny = true
	}
	c.updateCwndUsage()
	if sentAny && c.cfg.NotSentLowat != 0 {
		c.notifyWritable()
	}
	if sentAny {
		c.rearmTimers(false)
	} else if c.flight.empty() {
		c.armPersistTimer()
	}
}

// retransmitLost retransmits the first lost piece, as much of it as the congestion window allows,
// and reports whether it did.
func (c *Conn) retransmitLost(emit Emit) bool {
	budget := c.cwnd.size - c.flight.pipe()
	if c.holdBack() {
		return false
	}
	if budget < c.cwnd.mss && c.flight.pipe() > 0 || c.waitForPacing() {
		return false
	}
	at, ok := c.flight.nextLost()
	if ok {
		c.retransmit(at, min(max(budget, c.cwnd.mss), c.pacingBurst(c.segmentSize())), emit)
	}
	return ok
}

// retransmit sends the piece at a position again, at most limit bytes of it.
func (c *Conn) retransmit(at piecePos, limit int, emit Emit) {
	if p := c.flight.pieceAt(at); p.len() > limit {
		if size := int(p.segmentSize); size > 0 && size <= limit {
			limit -= limit % size // keep segment boundaries, to recognize a late original
		}
		c.flight.splitPiece(at, p.seq.Add(limit))
	}
	p := c.flight.pieceAt(at)
	c.flight.markRetransmitted(p, c.segmentSize(), c.now)
	c.retransmittedSegments += uint64(max(1, (p.len()+c.maxPayload()-1)/c.maxPayload()))
	c.prr.out += p.len()
	c.chargePacing(p.len())
	if c.phase != phaseOpen && c.undoState.firstRetransmitTS == 0 && c.timestamps {
		c.undoState.firstRetransmitTS = c.tsNow()
	}
	if p.seq == c.sndUna && c.phase == phaseRecovery {
		// its acknowledgment is a round trip away (RFC 6675, section 6, and Linux)
		c.rtoAt = c.now.Add(c.currentRTO())
	}
	c.sendPiece(*p, emit)
}

// sendPiece sends a piece of the stream.
func (c *Conn) sendPiece(p piece, emit Emit) {
	size := int(p.segmentSize)
	s := c.newSegment(wire.ACK, p.seq)
	end := p.end
	if c.finQueued && c.sendEnd().Less(end) {
		s.Flags |= wire.FIN
		end = c.sendEnd()
	}
	n := end.Sub(p.seq)
	s.Payload[0], s.Payload[1] = c.sendBuf.view(p.seq.Sub(c.sendBufSeq), n)
	if end == c.sendEnd() && n > 0 {
		s.Flags |= wire.PSH
	}
	if n > size {
		s.SegmentSize = size
		// The device sets PSH in the last segment only; a receiver that merges segments (GRO) then
		// delivers them at once (as in Linux).
		s.Flags |= wire.PSH
	}
	if c.ecn.negotiated && n > 0 && p.retransmits == 0 {
		c.setECN(s)
	}
	c.emit(s, emit)
}

// segmentSize is the payload of a full segment now: SACK blocks take room.
func (c *Conn) segmentSize() int {
	var o wire.TCPOptions
	c.addSACKBlocks(&o)
	if o.SACKCount > 0 {
		return c.maxPayload() - 4 - 8*int(o.SACKCount)
	}
	return c.maxPayload()
}

// superframeSize is the largest payload of an OutSegment: a whole number of segments.
func (c *Conn) superframeSize(segment int) int {
	if c.urgent.sndUrgent || c.ecn.sendCWR {
		// each segment needs its own urgent pointer, and only the first one carries CWR
		return segment
	}
	return max(c.cfg.Superframe/segment, 1) * segment
}

// sendNew sends the next new data or FIN, if the windows, pacing and Nagle allow, and reports
// whether it did.
func (c *Conn) sendNew(emit Emit) bool {
	if c.flight.atSlotLimit() || c.holdBack() {
		return false // wait for an acknowledgment, or for Resume
	}
	unsent, room, size := c.unsentBytes(), c.usableWindow(), c.segmentSize()
	if c.search != nil && unsent > size {
		if sent, wait := c.sendProbe(unsent, room, emit); sent || wait {
			return sent
		}
	}
	burst := c.pacingBurst(size)
	n := min(unsent, room, c.cwndRoom(unsent, size), burst)
	override := c.swsOverride && n > 0
	c.swsOverride = false
	if unsent == 0 {
		// A FIN may be sent even if the peer has shrunk its window, when room is negative.
		n = 0
	}
	if unsent > 0 && (n <= 0 || !override && !c.worthSending(n, unsent, room, size, burst)) || c.waitForPacing() {
		return false
	}
	if n > size && n < unsent {
		n -= n % size // the rest may fill a segment together with later data
	}
	c.sendNext(n, size, emit)
	return true
}

// cwndRoom is how many bytes the congestion window still allows.
func (c *Conn) cwndRoom(unsent, size int) int {
	n := c.cwnd.size - c.flight.pipe()
	if !c.sackPermitted && c.phase == phaseOpen {
		// limited transmit (RFC 3042): each duplicate ACK shows that a segment has left the network
		n += min(c.dupACKs, dupACKThreshold-1) * c.cwnd.mss
	}
	if c.finQueued && unsent <= size {
		// the last segment ignores the congestion window (as in Linux): the peer can close then
		n = max(n, size)
	}
	return n
}

// sendNext sends the next n bytes of the stream, and the FIN if they are the last.
func (c *Conn) sendNext(n, size int, emit Emit) {
	fin := c.finQueued && n == c.unsentBytes() && c.state != SynReceived
	p := piece{seq: c.sndNxt, end: c.sndNxt.Add(n), sentAt: c.now, segmentSize: uint16(size)}
	if fin {
		p.end = p.end.Add(1)
	}
	if n < size {
		c.lastSmallEnd = p.end
	}
	if c.flight.empty() && c.roundEnd.LessEq(c.sndUna) {
		c.roundEnd = p.end
	}
	c.flight.push(p)
	c.sndNxt, c.autocorkAt = p.end, 0
	c.prr.out += p.len()
	c.chargePacing(n)
	c.sendPiece(p, emit)
}

// worthSending reports whether to send n bytes now: sender silly window syndrome avoidance and
// Nagle's algorithm (RFC 9293, sections 3.8.6.2.1 and 3.7.4).
func (c *Conn) worthSending(n, unsent, room, size, burst int) bool {
	switch {
	case c.autocorked(n, unsent, burst/size*size):
		return false
	case n >= size:
		// Wait for a larger superframe while an acknowledgment is due. But after a possible loss
		// send each segment: it causes the ACK that detects the loss (RFC 3042).
		return n >= min(unsent, room, burst) || n >= c.cwnd.size/8 || c.flight.empty() || c.phase != phaseOpen || c.dupACKs > 0 || c.flight.sackedBytes > 0
	case n < unsent: // the send window is the limit
		return c.flight.empty() && room >= min(unsent, max(c.maxSndWnd/2, 1)) && n == room && room >= c.maxSndWnd/2
	case c.finQueued, c.noDelay && !c.corked && !c.more, c.sndNxt.Less(c.flushBefore):
		return true
	case c.corked, c.more:
		return false
	}
	return c.lastSmallEnd.LessEq(c.sndUna) // no small segment is in flight
}

// sendTLP sends a tail loss probe (RFC 8985, section 7.3): new data if there is some and the send
// window allows, otherwise the last segment again. It reports whether it sent one.
func (c *Conn) sendTLP(emit Emit) bool {
	if c.flight.empty() || c.phase != phaseOpen || c.holdBack() {
		return false
	}
	end := c.sndNxt
	c.rtoAt = c.now.Add(c.currentRTO())
	size := c.segmentSize()
	// a probe ignores the congestion window, pacing and the cork
	if n := min(c.unsentBytes(), size); n > 0 && n <= c.usableWindow() && !c.flight.atSlotLimit() {
		c.sendNext(n, size, emit)
		c.tlp = tailLossProbe{endSeq: c.sndNxt, outstanding: true}
		return true
	}
	last := piecePos{slot: len(c.flight.slots) - 1}
	last.index = c.flight.pieceCount(last.slot) - 1
	if p := c.flight.pieceAt(last); p.len() > int(p.segmentSize) && p.segmentSize > 0 {
		c.flight.splitPiece(last, p.seq.Add((p.len()-1)/int(p.segmentSize)*int(p.segmentSize)))
		last.index++
	}
	c.retransmit(last, size, emit)
	c.tlp = tailLossProbe{endSeq: end, outstanding: true, isRetransmit: true}
	return true
}

// Pending reports whether Output has something to send that no later event would trigger.
func (c *Conn) Pending() bool {
	return c.ackPending || c.rstPending || c.synPending || c.windowProbePending || c.tlpPending
}
