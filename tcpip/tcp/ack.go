package tcp

import (
	"slices"
	"time"

	"weir/wire"
)

// acknowledged takes a segment's acknowledgment, which is between una and nxt, its window and its
// SACK blocks.
func (c *Conn) acknowledged(s *Segment) {
	d := delivery{crowded: c.notice.agreed && s.Flags&wire.ECE != 0, rtt: -1, stamp: s.Options.Echo, stamped: c.stamps && s.Options.Stamped}
	wasEmpty, before := c.flight.empty(), c.una
	c.advance(s.Ack, &d)
	c.takeSACK(s, &d)
	opened := c.takeWindow(s)
	if d.rtt >= 0 {
		c.estimator.sample(d.rtt, c.now)
		c.cwnd.srtt = c.estimator.srtt
	}
	switch {
	case c.una != before:
		c.backoff = 0
		// as many of those that came behind the gap are acknowledged now
		c.duplicates = max(0, c.duplicates-d.inOrder/c.cwnd.mss+1)
		if c.phase != recovering {
			c.duplicates = 0
		}
		c.stalledAt = 0
	case wasEmpty || len(s.Payload) > 0 || opened || s.Flags&wire.FIN != 0:
	case !c.sack:
		c.duplicates++
	}
	c.probeAnswered(s, &d)
	c.recover(&d)
	c.closing()
	c.rearm(c.una != before)
	if c.full {
		if limit := c.sendLimit(c.cfg.Memory.Share(true)); limit-c.out.n >= min(limit/3, 64<<10) {
			c.full = false
			c.events |= Writable
		}
	}
}

// overtaken takes an acknowledgment of less than is acknowledged by now: what it says of gaps is
// recorded (RFC 2018, section 5).
func (c *Conn) overtaken(s *Segment) {
	d := delivery{rtt: -1}
	c.takeSACK(s, &d)
	if d.bytes > 0 {
		c.recover(&d)
		c.rearm(false)
	}
}

// delivery is what one segment said to have been delivered.
type delivery struct {
	bytes   int           // for the first time, acknowledged or by SACK
	inOrder int           // acknowledged
	rtt     time.Duration // of what was sent last of it; below zero: not known
	stamp   wire.Stamp    // our timestamp that it answers
	stamped bool
	told    bool // of a duplicate
	crowded bool // the path is (RFC 3168)
}

// delivered notes that a piece was delivered. Only of one that is acknowledged does the timestamp
// say whether that answers the last time that it was sent: what lies behind a gap does not change
// what the peer echoes (RFC 7323, section 4.3).
func (c *Conn) delivered(p *sent, d *delivery, acknowledged bool) {
	if p.state == sacked {
		return // it was told of before
	}
	d.bytes += p.len()
	c.proven = max(c.proven, min(p.len(), c.payload()))
	if p.again == 0 {
		d.rtt = c.now.Sub(p.at)
	}
	c.rack.delivered(p, c.now, &c.estimator, func(p *sent) bool {
		return !acknowledged || !d.stamped || c.stamp()-d.stamp <= wire.Stamp(c.now.Sub(p.at)/time.Millisecond)+1
	})
}

// advance takes off what is acknowledged.
func (c *Conn) advance(ack wire.Seq, d *delivery) {
	if ack == c.una {
		return
	}
	resent := false
	c.flight.acknowledge(ack, func(p *sent) {
		resent = resent || p.again > 0
		c.delivered(p, d, true)
	})
	if resent {
		d.rtt = -1 // what was sent once may have waited at the peer for what was sent again
	}
	d.inOrder = ack.Sub(c.una)
	c.una = ack
	if c.urgent.says && c.urgent.behind.LessEq(ack) {
		c.urgent.says = false
	}
	// places of long ago would seem to lie ahead after 2 GB
	c.small, c.pushTo = ack.Later(c.small), ack.Later(c.pushTo)
	c.notice.until = ack.Add(-1).Later(c.notice.until)
	if d.rtt < 0 && d.stamped && d.stamp != 0 && c.plausible(d.stamp) {
		d.rtt = c.stamp().Since(d.stamp, time.Millisecond)
	}
	if bytes := min(ack.Sub(c.outSeq), c.out.n); bytes > 0 {
		c.out.discard(bytes, false, c.cfg.Memory)
		c.outSeq = c.outSeq.Add(bytes)
	}
}

// takeSACK takes what the peer says to have behind gaps, or twice (RFC 2018, RFC 2883). Blocks are
// taken in the order of the stream: what comes later in it and is told of first is no sign that the
// path reorders.
func (c *Conn) takeSACK(s *Segment, d *delivery) {
	if !c.sack || s.Options.SACKs == 0 {
		return
	}
	told := s.Options.SACK
	blocks := told[:s.Options.SACKs]
	if b := blocks[0]; b.End.LessEq(s.Ack) || len(blocks) > 1 && blocks[1].First.LessEq(b.First) && b.End.LessEq(blocks[1].End) {
		d.told = true
		probed := c.probe.again && b.End == c.probe.end
		// as Linux: what else came twice was not taken for lost because the path reorders
		if c.iss.Less(b.First) && b.End.LessEq(c.nxt) && c.rack.reordered && !probed {
			c.rack.duplicate(c.una, c.nxt)
		}
		blocks = blocks[1:]
	}
	slices.SortFunc(blocks, func(a, b wire.Block) int { return a.First.Sub(b.First) })
	for _, b := range blocks {
		// it was overtaken: what it tells of may be acknowledged by now, in part
		if s.Ack.Less(c.una) {
			b.First = c.una.Later(b.First)
		}
		if b.First.Less(b.End) && c.una.LessEq(b.First) && b.End.LessEq(c.nxt) {
			c.flight.sack(b, func(p *sent) { c.delivered(p, d, false) })
		}
	}
}

// takeWindow takes the peer's window, if the segment is not older than the one that said the last,
// and says whether it is another.
func (c *Conn) takeWindow(s *Segment) (changed bool) {
	if s.Seq.Less(c.wl1) || s.Seq == c.wl1 && s.Ack.Less(c.wl2) {
		return false
	}
	window := int(s.Window) << c.peerScale
	changed = window != c.wnd
	if c.wnd == 0 && window > 0 && c.phase == timedOut && c.backoff > 0 {
		c.flight.loseAll(false) // what was sent into the closed window was dropped: it can go now
		c.backoff = 0
	}
	c.wnd, c.wl1, c.wl2 = window, s.Seq, s.Ack
	c.maxWnd = max(c.maxWnd, window)
	if window > 0 && c.persistAt != 0 {
		c.persistAt, c.persistTries = 0, 0
	}
	return changed
}

// closing takes the acknowledgment of our FIN.
func (c *Conn) closing() {
	if !c.finSent() || c.una != c.nxt {
		return
	}
	switch c.state {
	case FinWait1:
		c.state = FinWait2
		if c.orphan {
			c.orphanAt = c.now.Add(orphanTime)
		}
	case Closing:
		c.timeWait()
	case LastAck:
		c.finish()
	}
}
