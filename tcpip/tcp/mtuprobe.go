package tcp

import "weir/wire"

// probe is a segment in flight that is larger than the MSS. Its data is new data of the stream.
type probe struct {
	size       int // the MSS that it tests; 0: no probe is in flight
	first, end wire.Seq
}

const (
	// blackHoleTimeouts is how many retransmission timeouts in a row reveal a black hole: RFC
	// 4821's full-stop timeout. It is R1 (RFC 9293, section 3.8.3).
	blackHoleTimeouts = 3
	// minProbeCwnd is the least congestion window for a probe, in segments, as in Linux
	minProbeCwnd = 11
	// probeFollowers is how many segments must be able to follow a probe, in order that their
	// acknowledgments reveal its loss (RFC 4821, section 7.4)
	probeFollowers = dupACKThreshold + 1
)

// setMSS changes the MSS. The congestion window stays the same in bytes.
func (c *Conn) setMSS(mss int) {
	old := c.cwnd.mss
	c.mss = mss
	c.cwnd.mss = c.maxPayload()
	c.largestDelivered = min(c.largestDelivered, c.maxPayload())
	c.congestion.rescale(old, c.cwnd.mss)
}

// startSearching starts a connection with a small MSS if it always probes.
func (c *Conn) startSearching() {
	c.search = nil
	if c.cfg.MTUProbing == ProbeAlways && c.mss > baseMSS {
		c.search = &mtuSearch{low: baseMSS}
		c.search.restart(c.mss, false, c.now)
		c.mss = baseMSS
	}
}

// limitSearch limits the search to a path MTU that the IP layer has learned, and returns the MSS.
// A validated Packet Too Big thus becomes the next size to probe (RFC 8899, section 4.6).
func (c *Conn) limitSearch(limit int) (mss int) {
	m := c.search
	if limit == m.limit {
		return m.low
	}
	if m.probe.size > limit {
		c.loseProbe()
	}
	if limit > m.limit || limit < m.high {
		m.restart(limit, false, c.now)
	}
	m.limit = limit
	return m.low
}

// loseProbe retransmits the probe in flight: it was too large.
func (c *Conn) loseProbe() {
	p := c.search.probe
	c.search.probe = probe{}
	c.flight.eachMissing(p.first, p.end, func(at piecePos) bool {
		if piece := c.flight.pieceAt(at); piece.state == inFlight && piece.retransmits == 0 {
			c.flight.markLost(piece)
		}
		return true
	})
	c.recoverUncongested()
}

// recoverUncongested starts fast recovery without a smaller congestion window: a segment was lost
// because of its size.
func (c *Conn) recoverUncongested() {
	if c.flight.lostBytes == 0 || c.phase != phaseOpen {
		return
	}
	c.undoState = undoState{cwnd: c.cwnd.size, ssthresh: c.cwnd.ssthresh}
	c.cwnd.ssthresh = max(c.cwnd.ssthresh, c.cwnd.size)
	c.phase, c.recoveryPoint = phaseRecovery, c.sndNxt
	c.prr = prr{recoverFS: max(c.flight.totalBytes, 1)}
	c.tlp = tailLossProbe{}
}

// sendProbe sends a probe if one is due, and reports whether it did. With wait set, other new data
// must wait until acknowledgments have made room for the probe.
func (c *Conn) sendProbe(unsent, room int, emit Emit) (sent, wait bool) {
	if c.phase != phaseOpen || c.dupACKs > 0 || c.flight.sackedBytes > 0 || c.urgent.sndUrgent || c.ecn.sendCWR || c.segmentSize() != c.maxPayload() {
		return false, false
	}
	size := c.search.next(c.now)
	n := size - c.mss + c.maxPayload() // its payload: the options take room
	need := n + probeFollowers*c.maxPayload()
	switch {
	case size == 0 || unsent < need || room < need || c.cwnd.size < max(minProbeCwnd*c.cwnd.mss, n):
		return false, false
	case c.flight.pipe()+n > c.cwnd.size || c.waitForPacing():
		return false, true
	}
	c.search.probe = probe{size, c.sndNxt, c.sndNxt.Add(n)}
	c.sendNext(n, n, emit)
	return true, false
}

// processProbeAck raises the MSS if the probe in flight is acknowledged. It never was sent again:
// its loss, or another one near it, would have ended it as a probe.
func (c *Conn) processProbeAck() {
	m := c.search
	if m.probe.size == 0 || c.sndUna.Less(m.probe.end) {
		return
	}
	m.succeed(c.now)
	c.setMSS(m.low)
	c.largestDelivered = c.maxPayload()
	if m.low == m.limit && c.cfg.MTUProbing != ProbeAlways {
		c.search = nil
	}
}

// probeLost reports whether what was just marked as lost is the probe alone. That is a sign of its
// size, and not of congestion (RFC 4821, section 7.6.2).
func (c *Conn) probeLost() bool {
	if c.search == nil || c.search.probe.size == 0 {
		return false
	}
	p := c.search.probe
	at, ok := c.flight.nextLost()
	return ok && c.flight.pieceAt(at).seq == p.first && c.flight.lostBytes == p.end.Sub(p.first)
}

// endProbe ends a probe because of other losses: its result is not known (RFC 4821, section 7.6.4).
// After a timeout it has failed, if it was the first lost (section 7.6.3).
func (c *Conn) endProbe(timeout bool) {
	switch m := c.search; {
	case m == nil || m.probe.size == 0:
	case timeout && m.probe.first == c.sndUna:
		m.fail(c.now)
	default:
		m.probe = probe{}
	}
}

// detectBlackHole lowers the MSS if large segments time out repeatedly (RFC 4821, section 7.7). If
// the path has taken segments as large before, the cause may have been an outage: then the search
// starts with that size, and one probe restores it.
func (c *Conn) detectBlackHole() {
	if c.rtoBackoff < blackHoleTimeouts || c.cfg.MTUProbing == ProbeNever || c.flight.empty() || c.mss <= baseMSS && c.search == nil {
		return
	}
	mss := baseMSS
	if c.mss <= baseMSS {
		mss = max(c.mss/2, minSearchMSS)
	}
	first := c.flight.pieceAt(piecePos{c.flight.firstSlot, 0})
	size := min(first.len(), int(first.segmentSize))
	if mss >= c.mss || size <= mss-c.mss+c.maxPayload() || c.sndWnd == 0 {
		return // the size is not the cause, or the peer has no room for anything
	}
	if c.search == nil {
		c.search = &mtuSearch{limit: c.mss}
	}
	failed := c.mss == c.search.limit && c.largestDelivered < c.maxPayload()
	c.search.low, c.search.probe = mss, probe{}
	c.search.restart(c.search.limit, failed, c.now)
	c.setMSS(mss)
}

// mssLimit is the largest MSS that the link, the peer and ICMP allow.
func (c *Conn) mssLimit() int {
	if c.search != nil {
		return c.search.limit
	}
	return c.mss
}
