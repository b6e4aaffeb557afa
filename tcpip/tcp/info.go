package tcp

import "time"

// Info is a snapshot of a connection for diagnosis.
type Info struct {
	State            State
	Unread           int           // bytes received in order and not read by the application
	OutOfOrder       int           // bytes received beyond a gap
	Unsent           int           // bytes written and never sent
	InFlight         int           // bytes sent and not acknowledged
	RTT              time.Duration // smoothed round-trip time (RFC 6298); 0: not measured
	RTO              time.Duration // retransmission timeout after backoff
	CongestionWindow int           // bytes
	SendWindow       int           // window that the peer advertised, in bytes
	ReceiveWindow    int           // window advertised to the peer, in bytes
	MSS              int           // payload of a full segment, in bytes
	Retransmitted    uint64        // segments
}

// Info returns a snapshot of the connection.
func (c *Conn) Info() Info {
	i := Info{
		State: c.state, Unread: c.recvBuf.length, RTT: c.estimator.srtt, RTO: c.currentRTO(), CongestionWindow: c.cwnd.size, SendWindow: c.sndWnd, MSS: c.maxPayload(),
		InFlight: max(0, c.flight.totalBytes), Retransmitted: c.retransmittedSegments,
	}
	for _, b := range c.outOfOrder.blocks {
		i.OutOfOrder += b.End.Sub(b.First)
	}
	if c.state.synchronized() {
		i.Unsent, i.ReceiveWindow = c.unsentBytes(), max(0, c.rcvWndEdge.Sub(c.rcvNxt))
	} else {
		i.Unsent = c.sendBuf.length
	}
	return i
}

// RetransmittedSegments counts retransmitted segments of the wire: a superframe counts as many as
// the device splits it into.
func (c *Conn) RetransmittedSegments() uint64 { return c.retransmittedSegments }
