package tcp

import (
	"slices"
	"time"

	"weir/wire"
)

// acknowledged takes a segment's acknowledgment, which is between una and nxt, its window and its
// SACK blocks.
func (c *Conn) handleCurrentACK(s *Segment) {
	d := delivery{ece: c.ecn.negotiated && s.Flags&wire.ECE != 0, rtt: -1, tsEcr: s.Options.TSEcr, hasTimestamp: c.timestamps && s.Options.HasTimestamps}
	wasEmpty, before := c.flight.empty(), c.sndUna
	c.advanceUna(s.Ack, &d)
	c.processSACK(s, &d)
	opened := c.updateSendWindow(s)
	if d.rtt >= 0 {
		c.estimator.addSample(d.rtt, c.now)
		c.cwnd.srtt = c.estimator.srtt
	}
	switch {
	case c.sndUna != before:
		c.rtoBackoff = 0
		// as many of those that came behind the gap are acknowledged now
		c.dupACKs = max(0, c.dupACKs-d.ackedBytes/c.cwnd.mss+1)
		if c.phase != phaseRecovery {
			c.dupACKs = 0
		}
		c.stalledAt = 0
	case wasEmpty || len(s.Payload) > 0 || opened || s.Flags&wire.FIN != 0:
	case !c.sackPermitted:
		c.dupACKs++
	}
	c.processTLPAck(s, &d)
	c.updateRecovery(&d)
	c.processFINAck()
	c.rearmTimers(c.sndUna != before)
	if c.writeBlocked {
		if limit := c.sendBufferLimit(c.cfg.Memory.Share(true)); limit-c.sendBuf.length >= min(limit/3, 64<<10) {
			c.writeBlocked = false
			c.events |= Writable
		}
	}
}

// overtaken takes an acknowledgment of less than is acknowledged by now: what it says of gaps is
// recorded (RFC 2018, section 5).
func (c *Conn) handleOldACK(s *Segment) {
	d := delivery{rtt: -1}
	c.processSACK(s, &d)
	if d.deliveredBytes > 0 {
		c.updateRecovery(&d)
		c.rearmTimers(false)
	}
}

// delivery is what one segment said to have been delivered.
type delivery struct {
	deliveredBytes int            // for the first time, acknowledged or by SACK
	ackedBytes     int            // acknowledged
	rtt            time.Duration  // of what was sent last of it; below zero: not known
	tsEcr          wire.Timestamp // our timestamp that it answers
	hasTimestamp   bool
	dsackSeen      bool // of a duplicate
	ece            bool // the path is (RFC 3168)
}

// delivered notes that a piece was delivered. Only of one that is acknowledged does the timestamp
// say whether that answers the last time that it was sent: what lies behind a gap does not change
// what the peer echoes (RFC 7323, section 4.3).
func (c *Conn) markDelivered(p *piece, d *delivery, acknowledged bool) {
	if p.state == sackedByPeer {
		return // it was told of before
	}
	d.deliveredBytes += p.len()
	c.largestDelivered = max(c.largestDelivered, min(p.len(), c.maxPayload()))
	if p.retransmits == 0 {
		d.rtt = c.now.Sub(p.sentAt)
	}
	c.rack.onDelivered(p, c.now, &c.estimator, func(p *piece) bool {
		return !acknowledged || !d.hasTimestamp || c.tsNow()-d.tsEcr <= wire.Timestamp(c.now.Sub(p.sentAt)/time.Millisecond)+1
	})
}

// advance takes off what is acknowledged.
func (c *Conn) advanceUna(ack wire.Seq, d *delivery) {
	if ack == c.sndUna {
		return
	}
	resent := false
	c.flight.acknowledge(ack, func(p *piece) {
		resent = resent || p.retransmits > 0
		c.markDelivered(p, d, true)
	})
	if resent {
		d.rtt = -1 // what was sent once may have waited at the peer for what was sent again
	}
	d.ackedBytes = ack.Sub(c.sndUna)
	c.sndUna = ack
	if c.urgent.sndUrgent && c.urgent.sndUp.LessEq(ack) {
		c.urgent.sndUrgent = false
	}
	// places of long ago would seem to lie ahead after 2 GB
	c.lastSmallEnd, c.flushBefore = ack.Max(c.lastSmallEnd), ack.Max(c.flushBefore)
	c.ecn.reducedBefore = ack.Add(-1).Max(c.ecn.reducedBefore)
	if d.rtt < 0 && d.hasTimestamp && d.tsEcr != 0 && c.plausibleEcho(d.tsEcr) {
		d.rtt = c.tsNow().Since(d.tsEcr, time.Millisecond)
	}
	if bytes := min(ack.Sub(c.sendBufSeq), c.sendBuf.length); bytes > 0 {
		c.sendBuf.discard(bytes, false, c.cfg.Memory)
		c.sendBufSeq = c.sendBufSeq.Add(bytes)
	}
}

// takeSACK takes what the peer says to have behind gaps, or twice (RFC 2018, RFC 2883). Blocks are
// taken in the order of the stream: what comes later in it and is told of first is no sign that the
// path reorders.
func (c *Conn) processSACK(s *Segment, d *delivery) {
	if !c.sackPermitted || s.Options.SACKCount == 0 {
		return
	}
	told := s.Options.SACK
	blocks := told[:s.Options.SACKCount]
	if b := blocks[0]; b.End.LessEq(s.Ack) || len(blocks) > 1 && blocks[1].First.LessEq(b.First) && b.End.LessEq(blocks[1].End) {
		d.dsackSeen = true
		probed := c.tlp.isRetransmit && b.End == c.tlp.endSeq
		// as Linux: what else came twice was not taken for lost because the path reorders
		if c.iss.Less(b.First) && b.End.LessEq(c.sndNxt) && c.rack.reorderingSeen && !probed {
			c.rack.onDSACK(c.sndUna, c.sndNxt)
		}
		blocks = blocks[1:]
	}
	slices.SortFunc(blocks, func(a, b wire.Block) int { return a.First.Sub(b.First) })
	for _, b := range blocks {
		// it was overtaken: what it tells of may be acknowledged by now, in part
		if s.Ack.Less(c.sndUna) {
			b.First = c.sndUna.Max(b.First)
		}
		if b.First.Less(b.End) && c.sndUna.LessEq(b.First) && b.End.LessEq(c.sndNxt) {
			c.flight.sack(b, func(p *piece) { c.markDelivered(p, d, false) })
		}
	}
}

// takeWindow takes the peer's window, if the segment is not older than the one that said the last,
// and says whether it is another.
func (c *Conn) updateSendWindow(s *Segment) (changed bool) {
	if s.Seq.Less(c.sndWL1) || s.Seq == c.sndWL1 && s.Ack.Less(c.sndWL2) {
		return false
	}
	window := int(s.Window) << c.sndScale
	changed = window != c.sndWnd
	if c.sndWnd == 0 && window > 0 && c.phase == phaseLoss && c.rtoBackoff > 0 {
		c.flight.markAllLost(false) // what was sent into the closed window was dropped: it can go now
		c.rtoBackoff = 0
	}
	c.sndWnd, c.sndWL1, c.sndWL2 = window, s.Seq, s.Ack
	c.maxSndWnd = max(c.maxSndWnd, window)
	if window > 0 && c.persistAt != 0 {
		c.persistAt, c.persistBackoff = 0, 0
	}
	return changed
}

// closing takes the acknowledgment of our FIN.
func (c *Conn) processFINAck() {
	if !c.finSent() || c.sndUna != c.sndNxt {
		return
	}
	switch c.state {
	case FinWait1:
		c.state = FinWait2
		if c.orphaned {
			c.orphanTimeoutAt = c.now.Add(orphanTimeout)
		}
	case Closing:
		c.enterTimeWait()
	case LastAck:
		c.finish()
	}
}
