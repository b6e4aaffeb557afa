package tcp

import (
	"time"

	"weir/wire"
)

// Unreachable ends a connection that is being opened: the network says that nobody is there (RFC
// 1122, section 4.2.3.9).
func (c *Conn) HostUnreachable(now Time) {
	c.setNow(now)
	if c.state == SynSent {
		c.fail(Unreachable)
	}
}

// UnderWay says whether a place in the stream is of what was sent and is not acknowledged (RFC
// 5927, section 4.1).
func (c *Conn) InFlight(seq wire.Seq) bool {
	return c.state != Closed && c.state != TimeWait && c.sndUna.LessEq(seq) && seq.Less(c.sndNxt)
}

// Proven is the size of the largest packet of this connection's that is known to have come; 0: none
// that carried anything.
func (c *Conn) LargestDeliveredPacket() int {
	if c.largestDelivered == 0 {
		return 0
	}
	return c.largestDelivered + c.mss - c.maxPayload() + wire.IPv4Header + wire.TCPHeader
}

// Late says whether what was sent at a moment, or before, and is not acknowledged now, has not been
// for a retransmission time.
func (c *Conn) UnackedForRTO(now, sent Time) bool {
	return c.rtoBackoff > 0 || now.Sub(sent) >= c.estimator.rto
}

// SetPathMTU has segments be as large as a packet of so many bytes takes, and both ends. When that
// is less than before, what was larger is sent again at once (RFC 1191, section 6.5).
func (c *Conn) SetPathMTU(now Time, mtu int) {
	c.setNow(now)
	mss := min(max(mtu-wire.IPv4Header-wire.TCPHeader, minPeerMSS), c.linkMSS)
	if mss == c.mss || !c.state.synchronized() {
		return
	}
	smaller, was := mss < c.mss, c.cwnd.mss
	c.mss = mss
	c.cwnd.mss = c.maxPayload()
	c.largestDelivered = min(c.largestDelivered, c.maxPayload())
	if !smaller {
		return
	}
	c.cwnd.size = max(c.cwnd.size/was, minCwndSegments) * c.cwnd.mss
	c.flight.markAllLost(false)
	if c.flight.lostBytes > 0 && c.phase == phaseOpen {
		// nothing was lost for want of room: the threshold stays
		c.phase, c.recoveryPoint = phaseRecovery, c.sndNxt
		c.undoState = undoState{cwnd: c.cwnd.size, ssthresh: c.cwnd.ssthresh}
		c.prr = prr{recoverFS: max(c.flight.totalBytes, 1)}
	}
}

// orphanTime is how long FIN-WAIT-2 may last when nobody reads any more, as Linux.
const orphanTimeout = 60 * time.Second

// Orphan closes both halves: what waits is sent, nobody reads any more. What the peer still sends
// is answered by RST (RFC 9293, section 3.6.1).
func (c *Conn) Orphan(now Time) {
	if c.lingerSet && c.lingerTimeout == 0 {
		c.Abort(now)
		return
	}
	c.CloseWrite(now)
	c.orphaned = true
	switch {
	case c.state == FinWait2:
		c.orphanTimeoutAt = now.Add(orphanTimeout)
	case c.lingerSet:
		c.orphanTimeoutAt = now.Add(c.lingerTimeout)
	}
	c.recvBuf.free(c.cfg.Memory)
	c.outOfOrder = rangeSet{}
}
