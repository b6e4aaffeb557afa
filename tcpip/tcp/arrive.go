package tcp

import (
	"time"

	"weir/wire"
)

// Arrive takes a segment that has come for this connection (RFC 9293, section 3.10.7). What it
// answers is sent by Output.
func (c *Conn) Arrive(now Time, s *Segment) {
	c.at(now)
	switch c.state {
	case Closed:
	case SynSent:
		c.inSynSent(s)
	case TimeWait:
		if c.wait.Arrive(c.cfg, now, s) {
			c.ackNow = true
		}
		c.waitUntil = c.wait.Until
	default:
		c.inSynchronized(s)
	}
}

// inSynSent is section 3.10.7.3.
func (c *Conn) inSynSent(s *Segment) {
	hasAck := s.Flags&wire.ACK != 0
	if hasAck && (s.Ack.LessEq(c.iss) || c.nxt.Less(s.Ack)) {
		if s.Flags&wire.RST == 0 {
			c.answerRST(s.Ack)
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
	if c.stamps && s.Options.Stamped && hasAck && !c.plausible(s.Options.Echo) {
		c.answerRST(s.Ack)
		return
	}
	c.agree(s)
	if !hasAck { // both opened at once
		c.state, c.synDue = SynReceived, true
		return
	}
	c.synAcknowledged(s)
	c.ackNow = true
	c.takePayload(s.Seq.Add(1), s)
}

// plausible says whether we can have sent a timestamp by now.
func (c *Conn) plausible(echo wire.Stamp) bool {
	return !c.stamp().Less(echo) && c.stamp().Since(echo, time.Millisecond) < 10*time.Minute
}

// synAcknowledged makes the connection ESTABLISHED.
func (c *Conn) synAcknowledged(s *Segment) {
	if c.synTries == 1 {
		c.estimator.sample(c.now.Sub(c.synAt), c.now)
	} else if c.stamps && s.Options.Stamped && s.Options.Echo != 0 && c.plausible(s.Options.Echo) {
		c.estimator.sample(c.stamp().Since(s.Options.Echo, time.Millisecond), c.now)
	}
	if c.synTries > 1 { // RFC 6298, section 5.7, and RFC 5681, section 3.1
		c.estimator.rto = max(c.estimator.rto, 3*time.Second)
		c.cwnd.size = leastSegments * c.cwnd.mss
	}
	c.una = s.Ack
	c.fack = c.una
	c.wl1, c.wl2 = s.Seq, s.Ack
	c.rtoAt, c.backoff, c.synDue = 0, 0, false
	c.state = Established
	if c.finAsked {
		c.state = FinWait1
	}
	c.heard()
	c.events |= Connected | Writable
}

// inSynchronized is section 3.10.7.4: the other states.
func (c *Conn) inSynchronized(s *Segment) {
	if c.state == SynReceived && s.Flags&wire.SYN != 0 && s.Flags&(wire.ACK|wire.RST) == 0 && s.Seq == c.irs {
		c.synDue = true // it was sent again: ours was lost
		return
	}
	if c.state == SynReceived && !c.passive && s.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN|wire.ACK && s.Seq == c.irs && s.Ack == c.nxt {
		c.synAcknowledged(s) // both opened at once
		c.ackNow = true
		return
	}
	if s.Flags&wire.RST == 0 && c.old(s) {
		c.answer()
		return
	}
	if !c.acceptable(s) {
		c.unacceptable(s)
		return
	}
	switch {
	case s.Flags&wire.RST != 0:
		c.inRST(s)
	case s.Flags&wire.SYN != 0:
		c.inSYN(s)
	case s.Flags&wire.ACK != 0:
		c.inACK(s)
	}
}

// old is PAWS (RFC 7323, section 5).
func (c *Conn) old(s *Segment) bool {
	const forgotten = 24 * 24 * time.Hour
	return c.stamps && s.Options.Stamped && s.Options.Stamp.Less(c.recent) && c.now.Sub(c.seenAt) < forgotten
}

// acceptable says whether some of the segment lies in the window (section 3.10.7.4, first check).
func (c *Conn) acceptable(s *Segment) bool {
	window := max(0, c.advertised.Sub(c.rcv))
	first, length := s.Seq, s.End().Sub(s.Seq)
	switch {
	case length == 0 && window == 0:
		return first == c.rcv
	case length == 0:
		return first.In(c.rcv, window) || first == c.rcv.Add(window) // at the edge, as Linux
	case window == 0:
		return false
	}
	return first.In(c.rcv, window) || s.End().Add(-1).In(c.rcv, window) || first.Less(c.rcv) && c.rcv.Add(window).Less(s.End())
}

// unacceptable answers what lies outside the window, unless that is RST. Its acknowledgment counts
// where the window is closed (section 3.10.7.4).
func (c *Conn) unacceptable(s *Segment) {
	if s.Flags&wire.RST != 0 {
		return
	}
	if len(s.Payload) > 0 && s.End().LessEq(c.rcv) {
		c.duplicate = wire.Block{First: s.Seq, End: s.End()} // RFC 2883: it came twice
		c.hurry()
	}
	// others could be anybody's, who need not guess then where the stream is
	recent := s.Seq.LessEq(c.rcv) && c.rcv.Sub(s.Seq) <= c.limit
	if s.Flags&wire.ACK != 0 && s.Flags&wire.SYN == 0 && recent && c.state.synchronized() && c.acceptableACK(s.Ack) {
		c.takeACK(s)
	}
	c.answer()
}

// answer sends an acknowledgment to what is not acceptable, but not often (RFC 5961, section 7):
// two ends must not answer one another for ever.
func (c *Conn) answer() {
	if c.answeredAt != 0 && c.now.Sub(c.answeredAt) < answerEvery {
		return
	}
	c.answeredAt = c.now
	c.ackNow = true
}

// inRST is RFC 5961, section 3: only one that is exactly right ends the connection.
func (c *Conn) inRST(s *Segment) {
	switch {
	case s.Seq != c.rcv:
		c.answer()
	case c.state == SynReceived:
		c.fail(Refused)
	default:
		c.fail(Reset)
	}
}

// inSYN is RFC 5961, section 4: a SYN in the window is answered; a peer that has started anew
// answers that with RST.
func (c *Conn) inSYN(*Segment) { c.answer() }

// inACK takes an acknowledgment, and then what the segment carries.
func (c *Conn) inACK(s *Segment) {
	if c.state == SynReceived {
		if s.Ack.LessEq(c.una) || c.nxt.Less(s.Ack) {
			c.answerRST(s.Ack)
			return
		}
		c.wnd = int(s.Window) << c.peerScale
		c.maxWnd = c.wnd
		c.synAcknowledged(s)
	}
	if !c.acceptableACK(s.Ack) {
		c.answer()
		return
	}
	c.heard()
	c.remember(s)
	if s.Flags&wire.URG != 0 {
		c.pointed(s)
	}
	c.takeACK(s)
	if c.notice.agreed {
		c.marked(s)
	}
	c.toldTimeout(s.Options.UserTimeout)
	if c.state != Closed {
		c.takePayload(s.Seq, s)
	}
}

// acceptableACK reports whether an acknowledgment is of the last windows (RFC 5961, section 5).
func (c *Conn) acceptableACK(ack wire.Seq) bool {
	return ack.LessEq(c.nxt) && c.una.Add(-c.maxWnd).LessEq(ack)
}

// takeACK takes an acceptable acknowledgment.
func (c *Conn) takeACK(s *Segment) {
	if s.Ack.Less(c.una) {
		c.overtaken(s)
		return
	}
	c.acknowledged(s)
}

// remember takes the peer's timestamp (RFC 7323, section 4.3).
func (c *Conn) remember(s *Segment) {
	if c.stamps && s.Options.Stamped && s.Seq.LessEq(c.lastAck) { // it is not old
		c.recent, c.seenAt = s.Options.Stamp, c.now
	}
}

// answerRST has a RST sent to a segment that acknowledges what was never sent.
func (c *Conn) answerRST(ack wire.Seq) { c.rstDue, c.rstSeq, c.rstAcks = true, ack, false }

// takePayload takes what a segment carries, its first byte at seq (section 3.10.7.4, seventh and
// eighth check).
func (c *Conn) takePayload(seq wire.Seq, s *Segment) {
	fin := s.Flags&wire.FIN != 0
	if len(s.Payload) == 0 && !fin {
		return
	}
	if c.state != Established && c.state != FinWait1 && c.state != FinWait2 {
		return
	}
	if c.orphan && len(s.Payload) > 0 && c.rcv.Less(seq.Add(len(s.Payload))) {
		c.fail(Aborted)
		c.answerRST(s.Ack) // where the peer is in the stream: ours may not have come (as Linux)
		return
	}
	p := s.Payload
	if before := c.rcv.Sub(seq); before > 0 { // it begins with what is here already
		c.duplicate = wire.Block{First: seq, End: seq.Add(min(before, len(p)))}
		c.hurry()
		p, seq = p[min(before, len(p)):], c.rcv
	}
	if beyond := seq.Add(len(p)).Sub(c.advertised); beyond > 0 {
		p, fin = p[:max(0, len(p)-beyond)], false
	}
	whole := c.store(seq, p)
	if fin && whole {
		c.finAt, c.finKnown = seq.Add(len(p)), true
	}
	if c.finKnown && c.rcv == c.finAt {
		c.inFIN()
	}
}

// store puts bytes where they belong, and says whether there was room.
func (c *Conn) store(seq wire.Seq, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	offset := c.in.n + seq.Sub(c.rcv)
	if !c.in.reserve(offset+len(p), max(c.span(), c.in.n), c.cfg.Memory) {
		c.starve()
		return false // as if it had been lost
	}
	end := seq.Add(len(p))
	if seq != c.rcv {
		if held, ok := c.gaps.holds(wire.Block{First: seq, End: end}); ok && held.First.LessEq(seq) {
			c.duplicate = wire.Block{First: seq, End: end}
		}
		c.hurry()
		if c.gaps.add(wire.Block{First: seq, End: end}) {
			c.in.put(offset, p)
			return true
		}
		return false
	}
	if c.lending && len(c.gaps.all) == 0 {
		c.in.lend(p)
	} else {
		c.in.settle()
		c.in.put(offset, p)
	}
	next := end
	if len(c.gaps.all) > 0 {
		next = c.gaps.advance(end)
		c.ackNow = true // a gap is filled, in part at least (RFC 5681, section 4.2)
	}
	c.in.n += next.Sub(c.rcv)
	c.rcv = next
	c.tune.arrived(c.rcv, c.limit, c.now)
	c.received(len(p))
	c.events |= Readable
	return true
}

// received decides when to acknowledge bytes in order: at every second full segment, at once in the
// beginning, or a little later.
func (c *Conn) received(n int) {
	c.pending += n
	if c.dataAt != 0 && c.now.Sub(c.dataAt) > c.estimator.rto {
		c.quick = quickMost // the peer may have begun anew (as Linux)
	}
	c.dataAt = c.now
	switch {
	case c.quick > 0:
		c.quick--
		c.ackNow = true
	case c.pending >= 2*c.mss:
		c.ackNow = true
	case c.ackAt == 0:
		c.ackAt = c.now.Add(ackDelay)
	}
}

// hurry has an acknowledgment sent now, and the next ones not delayed: the peer has lost something,
// or takes something for lost. Its window is small for a while, and an acknowledgment that is late
// by 40 ms is four round trips of a path of 10 ms (as Linux's tcp_enter_quickack_mode).
func (c *Conn) hurry() { c.ackNow, c.quick = true, quickMost }

// inFIN takes the end of the peer's stream.
func (c *Conn) inFIN() {
	if c.fin {
		return
	}
	c.rcv = c.rcv.Add(1)
	c.fin, c.ackNow = true, true
	c.events |= Readable
	switch c.state {
	case Established:
		c.state = CloseWait
	case FinWait1:
		c.state = Closing // if it was acknowledged, it is FIN-WAIT-2 by now
	case FinWait2:
		c.timeWait()
	}
}

// timeWait ends the connection but for what may still come.
func (c *Conn) timeWait() {
	c.state = TimeWait
	c.timers = timers{waitUntil: c.now.Add(c.cfg.WaitTime)}
	c.wait = &Wait{Until: c.waitUntil, next: c.nxt, rcv: c.rcv, recent: c.recent, skew: c.skew, window: c.window(c.scale), stamps: c.stamps}
	c.out.free(c.cfg.Memory)
	c.flight = flight{}
	c.events |= Readable | Writable
}
