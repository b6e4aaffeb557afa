package tcp

import "weir/wire"

// Output sends what is due. It is called after every other call, or once after several: an
// acknowledgment then stands for all of them.
func (c *Conn) Output(now Time, emit Emit) {
	c.at(now)
	switch {
	case c.rstDue:
		c.sendRST(emit)
		return
	case c.state == Closed:
		return
	case c.state == SynSent || c.state == SynReceived:
		c.ackNow = false // a SYN says it, or there is nothing to say
		if c.synDue {
			c.sendSYN(emit)
		}
		return
	}
	c.transmit(emit)
	if c.windowProbe {
		c.windowProbe = false
		s := c.segment(wire.ACK, c.una.Add(-1)) // not acceptable, so that it is answered (as Linux)
		c.emit(s, emit)
	}
	if c.ackNow {
		s := c.segment(wire.ACK, c.nxt)
		c.tellTimeout(&s.Options)
		c.emit(s, emit)
	}
}

// segment is one with what every segment has.
func (c *Conn) segment(flags wire.Flags, seq wire.Seq) *Sending {
	s := &c.sending
	*s = Sending{Seq: seq, Flags: flags, Ack: c.rcv, Window: c.window(c.scale)}
	if c.stamps {
		s.Options.Stamped, s.Options.Stamp, s.Options.Echo = true, c.stamp(), c.recent
	}
	c.report(&s.Options)
	if c.urgent.says {
		c.urgent.point(s)
	}
	if c.notice.echo {
		s.Flags |= wire.ECE
	}
	return s
}

// report says what lies behind gaps, or came twice.
func (c *Conn) report(o *wire.TCPOptions) {
	if !c.sack || c.duplicate.First == c.duplicate.End && len(c.gaps.all) == 0 {
		return
	}
	most := wire.MaxSACK
	if c.stamps {
		most--
	}
	at := uint8(0)
	if c.duplicate.First != c.duplicate.End {
		o.SACK[0], at = c.duplicate, 1
	}
	blocks, n := c.gaps.blocks(most - int(at))
	copy(o.SACK[at:], blocks[:n])
	o.SACKs = at + n
}

// emit sends a segment, and takes note of what it acknowledges.
func (c *Conn) emit(s *Sending, emit Emit) {
	c.lastSent = c.now
	if s.Flags&wire.ACK != 0 {
		c.lastAck, c.pending, c.ackAt, c.ackNow = s.Ack, 0, 0, false
		c.duplicate = wire.Block{}
	}
	emit(s)
}

func (c *Conn) sendRST(emit Emit) {
	c.rstDue = false
	s := Sending{Seq: c.rstSeq, Flags: wire.RST}
	if c.rstAcks {
		s.Ack, s.Flags = c.rcv, wire.RST|wire.ACK
	}
	if c.stamps && c.state != SynSent { // once they are agreed on (RFC 7323, section 3.2)
		s.Options.Stamped, s.Options.Stamp, s.Options.Echo = true, c.stamp(), c.recent
	}
	emit(&s)
}

// sendSYN sends SYN, or SYN and ACK, and has it sent again in time.
func (c *Conn) sendSYN(emit Emit) {
	c.synDue = false
	s := Sending{Seq: c.iss, Flags: wire.SYN | c.synMarks()}
	if c.state == SynReceived {
		s.Flags |= wire.ACK
		s.Ack = c.rcv
	}
	o := &s.Options
	o.MSS = uint16(c.cfg.MSS)
	o.SACKPermitted = c.sack
	o.Stamped = c.stamps
	if c.stamps {
		o.Stamp, o.Echo = c.stamp(), c.recent
	}
	o.Scaled = c.scale > 0 || c.state == SynSent && !c.cfg.NoScale
	o.Scale = c.scale
	if c.cfg.TellTimeout {
		o.UserTimeout = c.cfg.UserTimeout
	}
	s.Window = firstWindow(c.cfg)
	if c.state == SynReceived {
		c.advertised = c.rcv.Add(int(s.Window))
		c.lastAck = c.rcv
	}
	if c.synTries == 0 {
		c.synAt = c.now
	} else {
		c.resent++
	}
	c.synTries++
	c.rtoAt = c.now.Add(c.rtoNow())
	c.lastSent = c.now
	c.sending = s
	emit(&c.sending)
}

// firstWindow is what a SYN offers: it is not scaled.
func firstWindow(cfg *Config) uint16 { return uint16(min(cfg.Receive.First, 65535)) }

// waiting says whether there is something that has not been sent once.
func (c *Conn) waiting() bool { return c.unsent() > 0 || c.finAsked && !c.finSent() }

// transmit sends again what is lost, and then what is new, as the windows allow.
func (c *Conn) transmit(emit Emit) {
	c.pacing.waited, c.paceAt = c.paceAt != 0, 0
	if c.state == TimeWait || c.state == FinWait2 {
		return
	}
	sentAny := false
	if c.probeDue {
		c.probeDue = false
		sentAny = c.sendProbe(emit)
	}
	for c.flight.lost > 0 && c.sendLost(emit) {
		sentAny = true
	}
	c.restartAfterIdle()
	for c.flight.lost == 0 && c.waiting() && c.sendNew(emit) {
		sentAny = true
	}
	c.noteUsage()
	if sentAny {
		c.rearm(false)
	} else if c.flight.empty() {
		c.persist()
	}
}

// sendLost sends the first lost piece again, as much of it as there is room for, and says whether
// it did.
func (c *Conn) sendLost(emit Emit) bool {
	budget := c.cwnd.size - c.flight.pipe()
	if budget < c.cwnd.mss && c.flight.pipe() > 0 || c.held() {
		return false
	}
	at, ok := c.flight.nextLost()
	if ok {
		c.resend(at, min(max(budget, c.cwnd.mss), c.paceMost(c.segmentSize())), emit)
	}
	return ok
}

// resend sends the piece at a place again, at most so much of it.
func (c *Conn) resend(at place, most int, emit Emit) {
	if p := c.flight.piece(at); p.len() > most {
		if size := int(p.size); size > 0 && size <= most {
			most -= most % size // as it was cut before, so that what comes late of it is known
		}
		c.flight.split(at, p.seq.Add(most))
	}
	p := c.flight.piece(at)
	c.flight.sentAgain(p, c.segmentSize(), c.now)
	c.resent += uint64(max(1, (p.len()+c.payload()-1)/c.payload()))
	c.prr.sent += p.len()
	c.spend(p.len())
	if c.phase != open && c.before.stamp == 0 && c.stamps {
		c.before.stamp = c.stamp()
	}
	if p.seq == c.una && c.phase == recovering {
		// its answer is a round trip away (RFC 6675, section 6, and Linux)
		c.rtoAt = c.now.Add(c.rtoNow())
	}
	c.sendPiece(*p, emit)
}

// sendPiece sends a piece of the stream.
func (c *Conn) sendPiece(p sent, emit Emit) {
	size := c.segmentSize()
	s := c.segment(wire.ACK, p.seq)
	end := p.end
	if c.finAsked && c.end().Less(end) {
		s.Flags |= wire.FIN
		end = c.end()
	}
	n := end.Sub(p.seq)
	s.Payload[0], s.Payload[1] = c.out.at(p.seq.Sub(c.outSeq), n)
	if end == c.end() && n > 0 {
		s.Flags |= wire.PSH
	}
	if n > size {
		s.Size = size
		// the device puts it in the last segment: a receiver that merges segments delivers them at
		// once (as Linux)
		s.Flags |= wire.PSH
	}
	if c.notice.agreed && n > 0 && p.again == 0 {
		c.mark(s)
	}
	c.emit(s, emit)
}

// segmentSize is how much a segment carries beside the options that it would have now: what is told
// of gaps takes room.
func (c *Conn) segmentSize() int {
	var o wire.TCPOptions
	c.report(&o)
	if o.SACKs > 0 {
		return c.payload() - 4 - 8*int(o.SACKs)
	}
	return c.payload()
}

// superframe is how much one Sending may carry: a whole number of segments.
func (c *Conn) superframe(segment int) int {
	if c.urgent.says || c.notice.slowed {
		return segment // each has a pointer of its own, or only the first says CWR
	}
	return max(c.cfg.Superframe/segment, 1) * segment
}

// sendNew sends what comes next, if it may, and says whether it did.
func (c *Conn) sendNew(emit Emit) bool {
	if c.flight.full() {
		return false // until some are acknowledged
	}
	unsent, room, size := c.unsent(), c.sendWindow(), c.segmentSize()
	most := c.paceMost(size)
	n := min(unsent, room, c.budget(unsent, size), most)
	pushed := c.pushDue && n > 0
	c.pushDue = false
	if unsent == 0 {
		// FIN goes even if the peer has taken back some of its window: then room is below zero
		n = 0
	}
	if unsent > 0 && (n <= 0 || !pushed && !c.worth(n, unsent, room, size, most)) || c.held() {
		return false
	}
	if n > size && n < unsent {
		n -= n % size // the rest can go with what comes later
	}
	c.sendNext(n, size, emit)
	return true
}

// budget is how many bytes the congestion window has room for.
func (c *Conn) budget(unsent, size int) int {
	n := c.cwnd.size - c.flight.pipe()
	if !c.sack && c.phase == open {
		// limited transmit: each has left the network (RFC 3042); SACK says which
		n += min(c.duplicates, duplicateThreshold-1) * c.cwnd.mss
	}
	if c.finAsked && unsent <= size {
		// the last segment does not wait for the window (as Linux): the peer can close
		n = max(n, size)
	}
	return n
}

// sendNext sends the next n bytes of the stream, and FIN if they are the last.
func (c *Conn) sendNext(n, size int, emit Emit) {
	fin := c.finAsked && n == c.unsent()
	p := sent{seq: c.nxt, end: c.nxt.Add(n), at: c.now, size: uint16(size)}
	if fin {
		p.end = p.end.Add(1)
	}
	if n < size {
		c.small = p.end
	}
	if c.flight.empty() && c.roundEnd.LessEq(c.una) {
		c.roundEnd = p.end
	}
	c.flight.push(p)
	c.nxt = p.end
	c.prr.sent += p.len()
	c.spend(n)
	c.sendPiece(p, emit)
}

// worth says whether n bytes are to go now (RFC 9293, sections 3.8.6.2.1 and 3.7.4).
func (c *Conn) worth(n, unsent, room, size, most int) bool {
	switch {
	case n >= size:
		// A window that opens a little at a time does not make small superframes, while there is an
		// acknowledgment to come. Where something may be lost each segment counts: it is what tells
		// (RFC 3042).
		return n >= min(unsent, room, most) || n >= c.cwnd.size/8 || c.flight.empty() || c.phase != open || c.duplicates > 0 || c.flight.sacked > 0
	case n < unsent: // the window is what bounds it
		return c.flight.empty() && room >= min(unsent, max(c.maxWnd/2, 1)) && n == room && room >= c.maxWnd/2
	case c.finAsked, c.noDelay && !c.corked, c.nxt.Less(c.pushTo):
		return true
	case c.corked:
		return false
	}
	return c.small.LessEq(c.una) // nothing small is under way
}

// sendProbe is RFC 8985, section 7.3: new data if there is any and room for it, otherwise the last
// segment again.
func (c *Conn) sendProbe(emit Emit) bool {
	if c.flight.empty() || c.phase != open {
		return false
	}
	end := c.nxt
	c.rtoAt = c.now.Add(c.rtoNow())
	size := c.segmentSize()
	// whatever the congestion window, the pace and a cork say
	if n := min(c.unsent(), size); n > 0 && n <= c.sendWindow() && !c.flight.full() {
		c.sendNext(n, size, emit)
		c.probe = probe{end: c.nxt, sent: true}
		return true
	}
	last := place{slot: len(c.flight.slots) - 1}
	last.part = c.flight.parts(last.slot) - 1
	if p := c.flight.piece(last); p.len() > int(p.size) && p.size > 0 {
		c.flight.split(last, p.seq.Add((p.len()-1)/int(p.size)*int(p.size)))
		last.part++
	}
	c.resend(last, size, emit)
	c.probe = probe{end: end, sent: true, again: true}
	return true
}

// Pending says whether Output has something to send that cannot wait for another reason to call it.
func (c *Conn) Pending() bool { return c.ackNow || c.rstDue || c.synDue || c.windowProbe || c.probeDue }
