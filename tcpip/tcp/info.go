package tcp

import "time"

// Info is how a connection does, for people to look at.
type Info struct {
	State    State
	Unread   int           // bytes that have come in order and that nobody has read
	Behind   int           // bytes that have come behind a gap
	Unsent   int           // bytes that were written and have not been sent once
	UnderWay int           // bytes that were sent and are not acknowledged
	RTT      time.Duration // smoothed (RFC 6298); 0: there is no sample
	RTO      time.Duration // retransmission time, backed off
	Window   int           // congestion window, in bytes
	Peer     int           // the window that the peer offers, in bytes
	Offered  int           // the window that the peer was offered, in bytes
	MSS      int           // payload of a full segment
	Resent   uint64        // segments that were sent again
}

// Info says how the connection does.
func (c *Conn) Info() Info {
	i := Info{
		State: c.state, Unread: c.in.n, RTT: c.estimator.srtt, RTO: c.rtoNow(), Window: c.cwnd.size, Peer: c.wnd, MSS: c.payload(),
		UnderWay: max(0, c.flight.bytes), Resent: c.resent,
	}
	for _, b := range c.gaps.all {
		i.Behind += b.End.Sub(b.First)
	}
	if c.state.synchronized() {
		i.Unsent, i.Offered = c.unsent(), max(0, c.advertised.Sub(c.rcv))
	} else {
		i.Unsent = c.out.n
	}
	return i
}

// Resent is how many segments were sent again: as many as a device cuts a superframe into.
func (c *Conn) Resent() uint64 { return c.resent }
