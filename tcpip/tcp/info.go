package tcp

import "time"

// Info is how a connection does, for people to look at.
type Info struct {
	State            State
	Unread           int           // bytes that have come in order and that nobody has read
	OutOfOrder       int           // bytes that have come behind a gap
	Unsent           int           // bytes that were written and have not been sent once
	InFlight         int           // bytes that were sent and are not acknowledged
	RTT              time.Duration // smoothed (RFC 6298); 0: there is no sample
	RTO              time.Duration // retransmission time, backed off
	CongestionWindow int           // congestion window, in bytes
	SendWindow       int           // the window that the peer offers, in bytes
	ReceiveWindow    int           // the window that the peer was offered, in bytes
	MSS              int           // payload of a full segment
	Retransmitted    uint64        // segments that were sent again
}

// Info says how the connection does.
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

// Resent is how many segments were sent again: as many as a device cuts a superframe into.
func (c *Conn) RetransmittedSegments() uint64 { return c.retransmittedSegments }
