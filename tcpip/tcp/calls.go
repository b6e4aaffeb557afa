package tcp

import (
	"time"

	"weir/wire"
)

// Unreachable ends a connection that is being opened: the network says that nobody is there (RFC
// 1122, section 4.2.3.9).
func (c *Conn) Unreachable(now Time) {
	c.at(now)
	if c.state == SynSent {
		c.fail(Unreachable)
	}
}

// UnderWay says whether a place in the stream is of what was sent and is not acknowledged (RFC
// 5927, section 4.1).
func (c *Conn) UnderWay(seq wire.Seq) bool {
	return c.state != Closed && c.state != TimeWait && c.una.LessEq(seq) && seq.Less(c.nxt)
}

// Proven is the size of the largest packet of this connection's that is known to have come; 0: none
// that carried anything.
func (c *Conn) Proven() int {
	if c.proven == 0 {
		return 0
	}
	return c.proven + c.mss - c.payload() + wire.IPv4Header + wire.TCPHeader
}

// Late says whether what was sent at a moment, or before, and is not acknowledged now, has not been
// for a retransmission time.
func (c *Conn) Late(now, sent Time) bool { return c.backoff > 0 || now.Sub(sent) >= c.estimator.rto }

// SetPathMTU has segments be as large as a packet of so many bytes takes, and both ends. When that
// is less than before, what was larger is sent again at once (RFC 1191, section 6.5).
func (c *Conn) SetPathMTU(now Time, mtu int) {
	c.at(now)
	mss := min(max(mtu-wire.IPv4Header-wire.TCPHeader, leastMSS), c.agreed)
	if mss == c.mss || !c.state.synchronized() {
		return
	}
	smaller, was := mss < c.mss, c.cwnd.mss
	c.mss = mss
	c.cwnd.mss = c.payload()
	c.proven = min(c.proven, c.payload())
	if !smaller {
		return
	}
	c.cwnd.size = max(c.cwnd.size/was, leastSegments) * c.cwnd.mss
	c.flight.loseAll(false)
	if c.flight.lost > 0 && c.phase == open {
		// nothing was lost for want of room: the threshold stays
		c.phase, c.point = recovering, c.nxt
		c.before = before{size: c.cwnd.size, threshold: c.cwnd.threshold}
		c.prr = prr{flight: max(c.flight.bytes, 1)}
	}
}

// orphanTime is how long FIN-WAIT-2 may last when nobody reads any more, as Linux.
const orphanTime = 60 * time.Second

// Orphan closes both halves: what waits is sent, nobody reads any more. What the peer still sends
// is answered by RST (RFC 9293, section 3.6.1).
func (c *Conn) Orphan(now Time) {
	if c.lingers && c.linger == 0 {
		c.Abort(now)
		return
	}
	c.CloseWrite(now)
	c.orphan = true
	switch {
	case c.state == FinWait2:
		c.orphanAt = now.Add(orphanTime)
	case c.lingers:
		c.orphanAt = now.Add(c.linger)
	}
	c.in.free(c.cfg.Memory)
	c.gaps = ranges{}
}
