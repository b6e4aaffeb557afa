package tcp

import (
	"time"

	"weir/wire"
)

// HostUnreachable ends a connection in SYN-SENT: an ICMP error reported that the peer cannot be
// reached (RFC 1122, section 4.2.3.9).
func (c *Conn) HostUnreachable(now Time) {
	c.setNow(now)
	if c.state == SynSent {
		c.fail(Unreachable)
	}
}

// InFlight reports whether a sequence number is of sent, unacknowledged data. An ICMP error that
// quotes another one is not valid (RFC 5927, section 4.1).
func (c *Conn) InFlight(seq wire.Seq) bool {
	return c.state != Closed && c.state != TimeWait && c.sndUna.LessEq(seq) && seq.Less(c.sndNxt)
}

// LargestSegment is the size of the largest segment that is sent now, in bytes with its header. A
// probe for the path MTU may be larger.
func (c *Conn) LargestSegment() int { return c.mss + wire.TCPHeader }

// LargestDelivered is the size of the largest segment of this connection that the peer has
// received, in bytes with its header; 0: none with data.
func (c *Conn) LargestDelivered() int {
	if c.largestDelivered == 0 {
		return 0
	}
	return c.largestDelivered + c.mss - c.maxPayload() + wire.TCPHeader
}

// UnackedForRTO reports whether data sent at or before sent has gone unacknowledged for an RTO. The
// caller knows that the data is still unacknowledged.
func (c *Conn) UnackedForRTO(now, sent Time) bool {
	return c.rtoBackoff > 0 || now.Sub(sent) >= c.estimator.rto
}

// LimitSegments limits segments to size bytes with their header: the path MTU less the IP header.
// If the limit falls, it retransmits the segments in flight at once (RFC 1191, section 6.4).
func (c *Conn) LimitSegments(now Time, size int) {
	c.setNow(now)
	mss := min(max(size-wire.TCPHeader, minPeerMSS), c.linkMSS)
	if !c.state.synchronized() && !c.Accepted() {
		return
	}
	if c.search != nil {
		mss = c.limitSearch(mss)
	}
	if mss == c.mss {
		return
	}
	lowered, oldPayload := mss < c.mss, c.cwnd.mss
	if c.setMSS(mss); !lowered {
		return
	}
	c.cwnd.size = max(c.cwnd.size/oldPayload, minCwndSegments) * c.cwnd.mss
	c.flight.markAllLost(false)
	c.recoverUncongested()
}

// orphanTimeout is how long FIN-WAIT-2 lasts when the application has called Orphan, as in Linux.
const orphanTimeout = 60 * time.Second

// Orphan closes both halves: it sends what is in the send buffer, and discards received data. Data
// that the peer sends afterwards is answered by RST (RFC 9293, section 3.6.1).
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
	c.recvBuf.free(c.memory())
	c.outOfOrder = rangeSet{}
}
