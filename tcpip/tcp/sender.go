package tcp

import (
	"time"

	"weir/wire"
)

// sender is the half of a connection that sends. Names as in RFC 9293, section 3.3.1: una is
// SND.UNA, nxt SND.NXT, wnd SND.WND.
type sender struct {
	iss, una, nxt wire.Seq
	wl1, wl2      wire.Seq
	wnd, maxWnd   int // bytes, scaled
	peerScale     uint8

	out         ring     // what is to be sent, and what was and is not acknowledged
	outSeq      wire.Seq // where it begins
	finAsked    bool     // behind it comes FIN
	synDue      bool     // a SYN is to be sent
	probeDue    bool     // a tail loss probe is
	pushDue     bool     // what waits is to go even if it is little
	pushTo      wire.Seq // what is before it goes even if it is little, and corked
	windowProbe bool     // a segment is that the peer answers by its window
	rstDue      bool
	rstSeq      wire.Seq // of the RST
	rstAcks     bool     // it carries an acknowledgment
	passive     bool     // it began by the peer's SYN
	noDelay     bool     // small segments go at once (RFC 9293, section 3.7.4)
	corked      bool     // only full segments go
	// the end of the last small segment that was sent (Minshall's variant of Nagle)
	small  wire.Seq
	full   bool   // the application was told that there is no room
	resent uint64 // segments that were sent again
	proven int    // the largest payload of a segment that the peer is known to have got

	flight
	estimator
	cwnd    window
	usage   usage
	control control
	pacing  pacing
	recovery
}

// end is behind the last byte of what is to be sent, without FIN.
func (s *sender) end() wire.Seq { return s.outSeq.Add(s.out.n) }

// unsent is how many bytes have not been sent once.
func (s *sender) unsent() int { return max(0, s.end().Sub(s.nxt)) }

// finSent says whether FIN was sent.
func (s *sender) finSent() bool { return s.finAsked && s.end().Less(s.nxt) }

// Write takes bytes to be sent, and says how many there was room for. When it is not all, Writable
// tells of more. There is no room any more behind CloseWrite.
func (c *Conn) Write(now Time, p []byte) int {
	c.at(now)
	if c.finAsked || c.state != Established && c.state != CloseWait && c.state != SynSent && c.state != SynReceived {
		return 0
	}
	share := c.cfg.Memory.Share(true)
	n := min(len(p), c.sendLimit(share)-c.out.n)
	for ; n > 0 && (c.out.wants(c.out.n+n) > share || !c.out.reserve(c.out.n+n, c.out.n, c.cfg.Memory)); n /= 2 {
		c.roomAt = now.Add(roomEvery) // nobody tells when there is memory again
	}
	if n <= 0 {
		c.full = true
		if c.out.n == 0 {
			c.roomAt = now.Add(roomEvery)
		}
		return 0
	}
	c.out.put(c.out.n, p[:n])
	c.out.n += n
	c.full = n < len(p)
	return n
}

// Room is how many bytes Write would take now.
func (c *Conn) Room() int { return max(0, c.sendLimit(c.cfg.Memory.Share(true))-c.out.n) }

// sendLimit is how much may wait to be sent or acknowledged: two windows, so that the next is there
// when one is acknowledged.
func (c *Conn) sendLimit(share int) int {
	return min(max(2*c.cwnd.size, c.cfg.Send.First), c.cfg.Send.Most, share)
}

// Hungry says whether a Write found no memory: Deadline is when to look again.
func (c *Conn) Hungry() bool { return c.roomAt != 0 }

// roomEvery is how often a connection looks whether there is memory again.
const roomEvery = 100 * time.Millisecond

// CloseWrite ends the stream: FIN goes behind what waits.
func (c *Conn) CloseWrite(now Time) {
	c.at(now)
	if c.finAsked {
		return
	}
	switch c.state {
	case Closed, TimeWait:
		return
	}
	c.finAsked, c.corked = true, false
	switch c.state {
	case Established:
		c.state = FinWait1
	case CloseWait:
		c.state = LastAck
	} // before: once it is established
}

// Abort ends the connection at once; the peer is told by RST.
func (c *Conn) Abort(now Time) {
	c.at(now)
	told := c.state != Closed && c.state != SynSent && c.state != TimeWait
	c.fail(Aborted)
	c.rstDue, c.rstSeq, c.rstAcks = told, c.nxt, true
}

// Closing says whether CloseWrite was called.
func (c *Conn) Closing() bool { return c.finAsked }

// SetNoDelay has small segments sent at once (yes), or only when nothing small is under way (RFC
// 9293, section 3.7.4). What waits then is sent, also if it is corked (as Linux).
func (c *Conn) SetNoDelay(yes bool) {
	c.noDelay = yes
	if yes {
		c.pushTo = c.end()
	}
}

// SetCork has only full segments sent until it is taken back.
func (c *Conn) SetCork(yes bool) { c.corked = yes }

// sendWindow is how many bytes from nxt on the peer takes.
func (s *sender) sendWindow() int { return s.una.Add(s.wnd).Sub(s.nxt) }

// restartAfterIdle has the window be smaller the longer nothing was sent: what it knew of the path
// grows old.
func (c *Conn) restartAfterIdle() {
	if !c.flight.empty() || c.lastSent == 0 {
		return
	}
	rto := c.estimator.rto
	// RFC 2861
	for idle := c.now.Sub(c.lastSent); idle > rto && c.cwnd.size > initialSegments*c.cwnd.mss; idle -= rto {
		c.cwnd.threshold = max(c.cwnd.threshold, 3*c.cwnd.size/4)
		c.cwnd.size = max(c.cwnd.size/2, initialSegments*c.cwnd.mss)
	}
}

// rtoNow is the retransmission time, backed off.
func (c *Conn) rtoNow() time.Duration { return c.estimator.backedOff(c.backoff) }
