package tcp

import "weir/wire"

// Output sends what is due. It is called after every other call, or once after several: an
// acknowledgment then stands for all of them.
func (c *Conn) Output(now Time, emit Emit) {
	c.setNow(now)
	switch {
	case c.rstPending:
		c.sendRST(emit)
		return
	case c.state == Closed:
		return
	case c.state == SynSent || c.state == SynReceived:
		c.ackPending = false // a SYN says it, or there is nothing to say
		if c.synPending {
			c.sendSYN(emit)
		}
		return
	}
	c.transmit(emit)
	if c.windowProbePending {
		c.windowProbePending = false
		s := c.newSegment(wire.ACK, c.sndUna.Add(-1)) // not acceptable, so that it is answered (as Linux)
		c.emit(s, emit)
	}
	if c.ackPending {
		s := c.newSegment(wire.ACK, c.sndNxt)
		c.addUserTimeoutOption(&s.Options)
		c.emit(s, emit)
	}
}

// segment is one with what every segment has.
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

// report says what lies behind gaps, or came twice.
func (c *Conn) addSACKBlocks(o *wire.TCPOptions) {
	if !c.sackPermitted || c.pendingDSACK.First == c.pendingDSACK.End && len(c.outOfOrder.blocks) == 0 {
		return
	}
	most := wire.MaxSACK
	if c.timestamps {
		most--
	}
	at := uint8(0)
	if c.pendingDSACK.First != c.pendingDSACK.End {
		o.SACK[0], at = c.pendingDSACK, 1
	}
	blocks, n := c.outOfOrder.recentBlocks(most - int(at))
	copy(o.SACK[at:], blocks[:n])
	o.SACKCount = at + n
}

// emit sends a segment, and takes note of what it acknowledges.
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
	if c.timestamps && c.state != SynSent { // once they are agreed on (RFC 7323, section 3.2)
		s.Options.HasTimestamps, s.Options.TSVal, s.Options.TSEcr = true, c.tsNow(), c.tsRecent
	}
	emit(&s)
}

// sendSYN sends SYN, or SYN and ACK, and has it sent again in time.
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
		c.rcvWndEdge = c.rcvNxt.Add(int(s.Window))
		c.lastAckSent = c.rcvNxt
	}
	if c.synTransmits == 0 {
		c.synSentAt = c.now
	} else {
		c.retransmittedSegments++
	}
	c.synTransmits++
	c.rtoAt = c.now.Add(c.currentRTO())
	c.lastSentAt = c.now
	c.outSegment = s
	emit(&c.outSegment)
}

// firstWindow is what a SYN offers: it is not scaled.
func synWindow(cfg *Config) uint16 { return uint16(min(cfg.ReceiveBuffer.Initial, 65535)) }

// waiting says whether there is something that has not been sent once.
func (c *Conn) hasUnsent() bool { return c.unsentBytes() > 0 || c.finQueued && !c.finSent() }

// transmit sends again what is lost, and then what is new, as the windows allow.
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
	if sentAny {
		c.rearmTimers(false)
	} else if c.flight.empty() {
		c.armPersistTimer()
	}
}

// sendLost sends the first lost piece again, as much of it as there is room for, and says whether
// it did.
func (c *Conn) retransmitLost(emit Emit) bool {
	budget := c.cwnd.size - c.flight.pipe()
	if budget < c.cwnd.mss && c.flight.pipe() > 0 || c.waitForPacing() {
		return false
	}
	at, ok := c.flight.nextLost()
	if ok {
		c.retransmit(at, min(max(budget, c.cwnd.mss), c.pacingBurst(c.segmentSize())), emit)
	}
	return ok
}

// resend sends the piece at a place again, at most so much of it.
func (c *Conn) retransmit(at piecePos, most int, emit Emit) {
	if p := c.flight.pieceAt(at); p.len() > most {
		if size := int(p.segmentSize); size > 0 && size <= most {
			most -= most % size // as it was cut before, so that what comes late of it is known
		}
		c.flight.splitPiece(at, p.seq.Add(most))
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
		// its answer is a round trip away (RFC 6675, section 6, and Linux)
		c.rtoAt = c.now.Add(c.currentRTO())
	}
	c.sendPiece(*p, emit)
}

// sendPiece sends a piece of the stream.
func (c *Conn) sendPiece(p piece, emit Emit) {
	size := c.segmentSize()
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
		// the device puts it in the last segment: a receiver that merges segments delivers them at
		// once (as Linux)
		s.Flags |= wire.PSH
	}
	if c.ecn.negotiated && n > 0 && p.retransmits == 0 {
		c.setECN(s)
	}
	c.emit(s, emit)
}

// segmentSize is how much a segment carries beside the options that it would have now: what is told
// of gaps takes room.
func (c *Conn) segmentSize() int {
	var o wire.TCPOptions
	c.addSACKBlocks(&o)
	if o.SACKCount > 0 {
		return c.maxPayload() - 4 - 8*int(o.SACKCount)
	}
	return c.maxPayload()
}

// superframe is how much one Sending may carry: a whole number of segments.
func (c *Conn) superframeSize(segment int) int {
	if c.urgent.sndUrgent || c.ecn.sendCWR {
		return segment // each has a pointer of its own, or only the first says CWR
	}
	return max(c.cfg.Superframe/segment, 1) * segment
}

// sendNew sends what comes next, if it may, and says whether it did.
func (c *Conn) sendNew(emit Emit) bool {
	if c.flight.atSlotLimit() {
		return false // until some are acknowledged
	}
	unsent, room, size := c.unsentBytes(), c.usableWindow(), c.segmentSize()
	most := c.pacingBurst(size)
	n := min(unsent, room, c.cwndRoom(unsent, size), most)
	pushed := c.swsOverride && n > 0
	c.swsOverride = false
	if unsent == 0 {
		// FIN goes even if the peer has taken back some of its window: then room is below zero
		n = 0
	}
	if unsent > 0 && (n <= 0 || !pushed && !c.worthSending(n, unsent, room, size, most)) || c.waitForPacing() {
		return false
	}
	if n > size && n < unsent {
		n -= n % size // the rest can go with what comes later
	}
	c.sendNext(n, size, emit)
	return true
}

// budget is how many bytes the congestion window has room for.
func (c *Conn) cwndRoom(unsent, size int) int {
	n := c.cwnd.size - c.flight.pipe()
	if !c.sackPermitted && c.phase == phaseOpen {
		// limited transmit: each has left the network (RFC 3042); SACK says which
		n += min(c.dupACKs, dupACKThreshold-1) * c.cwnd.mss
	}
	if c.finQueued && unsent <= size {
		// the last segment does not wait for the window (as Linux): the peer can close
		n = max(n, size)
	}
	return n
}

// sendNext sends the next n bytes of the stream, and FIN if they are the last.
func (c *Conn) sendNext(n, size int, emit Emit) {
	fin := c.finQueued && n == c.unsentBytes()
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
	c.sndNxt = p.end
	c.prr.out += p.len()
	c.chargePacing(n)
	c.sendPiece(p, emit)
}

// worth says whether n bytes are to go now (RFC 9293, sections 3.8.6.2.1 and 3.7.4).
func (c *Conn) worthSending(n, unsent, room, size, most int) bool {
	switch {
	case n >= size:
		// A window that opens a little at a time does not make small superframes, while there is an
		// acknowledgment to come. Where something may be lost each segment counts: it is what tells
		// (RFC 3042).
		return n >= min(unsent, room, most) || n >= c.cwnd.size/8 || c.flight.empty() || c.phase != phaseOpen || c.dupACKs > 0 || c.flight.sackedBytes > 0
	case n < unsent: // the window is what bounds it
		return c.flight.empty() && room >= min(unsent, max(c.maxSndWnd/2, 1)) && n == room && room >= c.maxSndWnd/2
	case c.finQueued, c.noDelay && !c.corked, c.sndNxt.Less(c.flushBefore):
		return true
	case c.corked:
		return false
	}
	return c.lastSmallEnd.LessEq(c.sndUna) // nothing small is under way
}

// sendProbe is RFC 8985, section 7.3: new data if there is any and room for it, otherwise the last
// segment again.
func (c *Conn) sendTLP(emit Emit) bool {
	if c.flight.empty() || c.phase != phaseOpen {
		return false
	}
	end := c.sndNxt
	c.rtoAt = c.now.Add(c.currentRTO())
	size := c.segmentSize()
	// whatever the congestion window, the pace and a cork say
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

// Pending says whether Output has something to send that cannot wait for another reason to call it.
func (c *Conn) Pending() bool {
	return c.ackPending || c.rstPending || c.synPending || c.windowProbePending || c.tlpPending
}
