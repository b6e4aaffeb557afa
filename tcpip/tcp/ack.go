package tcp

import (
	"time"

	"weir/wire"
)

// handleCurrentACK processes the acknowledgment, window and SACK blocks of a segment. SEG.ACK is
// between sndUna and sndNxt.
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
		// segments that caused duplicate ACKs are now acknowledged
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
	if c.search != nil {
		c.processProbeAck()
	}
	c.updateRecovery(&d)
	c.processFINAck()
	c.rearmTimers(c.sndUna != before)
	c.notifyWritable()
}

// handleOldACK processes an acknowledgment that was reordered: SEG.ACK is below sndUna. Its SACK
// blocks still count (RFC 2018, section 5).
func (c *Conn) handleOldACK(s *Segment) {
	d := delivery{rtt: -1}
	c.processSACK(s, &d)
	if d.deliveredBytes > 0 {
		c.updateRecovery(&d)
		c.rearmTimers(false)
	}
}

// delivery is what one acknowledgment reports as delivered.
type delivery struct {
	deliveredBytes int            // newly acknowledged or SACKed
	ackedBytes     int            // newly acknowledged
	rtt            time.Duration  // of the latest segment among them; below zero: not known
	tsEcr          wire.Timestamp // our timestamp that the acknowledgment echoes
	hasTimestamp   bool
	dsackSeen      bool // the peer reported a duplicate (RFC 2883)
	ece            bool // the peer reported congestion (ECN-Echo, RFC 3168)
}

// markDelivered counts a piece as delivered and passes it to RACK. If the piece was retransmitted,
// the echoed timestamp tells which transmission arrived, but only for acknowledged data: a segment
// beyond a gap does not change what the peer echoes (RFC 7323, section 4.3).
func (c *Conn) markDelivered(p *piece, d *delivery, acknowledged bool) {
	if p.state == sackedByPeer {
		return // a SACK block reported it before
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

// advanceUna moves sndUna to ack and releases the acknowledged data.
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
		d.rtt = -1 // data sent once may have waited at the peer for a retransmission
	}
	d.ackedBytes = ack.Sub(c.sndUna)
	c.ackedTotal += uint64(d.ackedBytes)
	c.sndUna = ack
	if c.urgent.sndUrgent && c.urgent.sndUp.LessEq(ack) {
		c.urgent.sndUrgent = false
	}
	// Keep these at sndUna or above: after 2 GiB an old value would seem to lie ahead.
	c.lastSmallEnd, c.flushBefore = ack.Max(c.lastSmallEnd), ack.Max(c.flushBefore)
	c.ecn.reducedBefore = ack.Add(-1).Max(c.ecn.reducedBefore)
	if d.rtt < 0 && d.hasTimestamp && d.tsEcr != 0 && c.plausibleEcho(d.tsEcr) {
		d.rtt = c.tsNow().Since(d.tsEcr, time.Millisecond)
	}
	if bytes := min(ack.Sub(c.sendBufSeq), c.sendBuf.length); bytes > 0 {
		c.sendBuf.discard(bytes, false, c.memory())
		c.sendBufSeq = c.sendBufSeq.Add(bytes)
	}
}

// processSACK processes the SACK blocks (RFC 2018) and the DSACK block (RFC 2883) of a segment. It
// sorts the blocks by sequence number: the order in which the peer lists them is not evidence of
// reordering.
func (c *Conn) processSACK(s *Segment, d *delivery) {
	if !c.sackPermitted || s.Options.SACKCount == 0 {
		return
	}
	copied := s.Options.SACK
	blocks := copied[:s.Options.SACKCount]
	if b := blocks[0]; b.End.LessEq(s.Ack) || len(blocks) > 1 && blocks[1].First.LessEq(b.First) && b.End.LessEq(blocks[1].End) {
		d.dsackSeen = true
		isProbe := c.tlp.isRetransmit && b.End == c.tlp.endSeq
		// As in Linux: without reordering, a duplicate does not show that RACK judged too early.
		if c.iss.Less(b.First) && b.End.LessEq(c.sndNxt) && c.rack.reorderingSeen && !isProbe {
			c.rack.onDSACK(c.sndUna, c.sndNxt)
		}
		blocks = blocks[1:]
	}
	sortBlocks(blocks)
	for _, b := range blocks {
		// a reordered segment: part of the block may be acknowledged by now
		if s.Ack.Less(c.sndUna) {
			b.First = c.sndUna.Max(b.First)
		}
		if b.First.Less(b.End) && c.sndUna.LessEq(b.First) && b.End.LessEq(c.sndNxt) {
			c.flight.sack(b, func(p *piece) { c.markDelivered(p, d, false) })
		}
	}
}

// sortBlocks sorts blocks by their first sequence number. There are at most four, so that an
// insertion sort does: slices.SortFunc has several times the code.
func sortBlocks(blocks []wire.Block) {
	for i, b := range blocks {
		at := i
		for ; at > 0 && b.First.Less(blocks[at-1].First); at-- {
			blocks[at] = blocks[at-1]
		}
		blocks[at] = b
	}
}

// updateSendWindow takes the window of a segment, unless a later segment set it (RFC 9293, section
// 3.10.7.4), and reports whether it changed.
func (c *Conn) updateSendWindow(s *Segment) (changed bool) {
	if s.Seq.Less(c.sndWL1) || s.Seq == c.sndWL1 && s.Ack.Less(c.sndWL2) {
		return false
	}
	window := int(s.Window) << c.sndScale
	changed = window != c.sndWnd
	if c.sndWnd == 0 && window > 0 && c.phase == phaseLoss && c.rtoBackoff > 0 {
		// the peer dropped what was sent into its closed window: retransmit it now
		c.flight.markAllLost(false)
		c.rtoBackoff = 0
	}
	c.sndWnd, c.sndWL1, c.sndWL2 = window, s.Seq, s.Ack
	c.maxSndWnd = max(c.maxSndWnd, window)
	if window > 0 && c.persistAt != 0 {
		c.persistAt, c.persistBackoff = 0, 0
	}
	return changed
}

// processFINAck changes the state if our FIN is now acknowledged.
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
