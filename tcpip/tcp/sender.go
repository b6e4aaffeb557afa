package tcp

import (
	"time"

	"weir/wire"
)

// sender is the sending half of a connection. sndUna, sndNxt, sndWnd, sndWL1 and sndWL2 are
// SND.UNA, SND.NXT, SND.WND, SND.WL1 and SND.WL2 (RFC 9293, section 3.3.1).
type sender struct {
	iss, sndUna, sndNxt wire.Seq
	sndWL1, sndWL2      wire.Seq
	sndWnd, maxSndWnd   int   // send window now and its maximum so far: bytes, after scaling
	sndScale            uint8 // window scale of the peer's windows

	sendBuf            ring     // data that is unsent or unacknowledged
	sendBufSeq         wire.Seq // sequence number of the first byte of sendBuf
	finQueued          bool     // a FIN follows the data of sendBuf
	synPending         bool     // Output must send a SYN
	tlpPending         bool     // Output must send a tail loss probe
	swsOverride        bool     // Output must send a small segment: the override timer expired
	flushBefore        wire.Seq // data before it ignores Nagle's algorithm and the cork
	windowProbePending bool     // Output must send a zero-window or keep-alive probe
	rstPending         bool     // Output must send a RST
	rstSeq             wire.Seq // sequence number of the RST
	rstHasAck          bool     // the RST carries an acknowledgment
	passiveOpen        bool     // the connection was opened by the peer's SYN
	noDelay            bool     // Nagle's algorithm is off (RFC 9293, section 3.7.4)
	corked             bool     // only full segments are sent
	more               bool     // the same, until SetMore(false): more data follows soon
	// lastSmallEnd is the end of the last segment sent that was not full (Minshall's variant of
	// Nagle's algorithm).
	lastSmallEnd          wire.Seq
	writeBlocked          bool   // a Write found no room; Writable is due when there is some
	retransmittedSegments uint64 // in segments of the wire
	ackedTotal            uint64 // bytes acknowledged since the connection began
	unacknowledged        int    // of a CLOSED connection: what it had sent or was to send
	largestDelivered      int    // largest payload of a segment that the peer has received

	search   *mtuSearch // search for the path MTU; nil: none
	autocork autocork
	flight
	estimator
	cwnd       congestionWindow
	cwndUsage  cwndUsage
	congestion congestionControl
	pacing     pacing
	recovery
}

// sendEnd is the sequence number after the last byte of the send buffer; a FIN stands there.
func (s *sender) sendEnd() wire.Seq { return s.sendBufSeq.Add(s.sendBuf.length) }

// unsentBytes is the number of bytes that were never sent.
func (s *sender) unsentBytes() int { return max(0, s.sendEnd().Sub(s.sndNxt)) }

// finSent reports whether the FIN was sent.
func (s *sender) finSent() bool { return s.finQueued && s.sendEnd().Less(s.sndNxt) }

// Write appends bytes to the send buffer and returns how many fit. If not all do, the event
// Writable follows when there is room again. After CloseWrite nothing fits.
func (c *Conn) Write(now Time, p []byte) int {
	c.setNow(now)
	if len(p) == 0 || c.finQueued || c.state != Established && c.state != CloseWait && c.state != SynSent && c.state != SynReceived {
		return 0
	}
	c.autocork.addWrite(len(p), c.receivedTotal, now)
	share := c.memory().Share(true)
	n := min(len(p), c.sendBufferLimit(share)-c.sendBuf.length, c.notSentRoom())
	for ; n > 0 && (c.sendBuf.allocationFor(c.sendBuf.length+n) > share || !c.sendBuf.reserve(c.sendBuf.length+n, c.sendBuf.length, c.memory())); n /= 2 {
		// Memory does not notify when some is free again
		c.memoryRetryAt = now.Add(memoryRetryInterval)
	}
	if n <= 0 {
		c.writeBlocked = true
		if c.sendBuf.length == 0 {
			c.memoryRetryAt = now.Add(memoryRetryInterval)
		}
		return 0
	}
	c.sendBuf.put(c.sendBuf.length, p[:n])
	c.sendBuf.length += n
	c.writeBlocked = n < len(p)
	c.SendSYN()
	return n
}

// Room is the number of bytes that Write would accept now.
func (c *Conn) Room() int {
	return max(0, min(c.sendBufferLimit(c.memory().Share(true))-c.sendBuf.length, c.notSentRoom()))
}

// CanStream reports whether a large Write would find room now, or the send buffer is empty.
func (c *Conn) CanStream() bool {
	return !c.finQueued && (c.state == Established || c.state == CloseWait) && (c.sendBuf.length == 0 || c.Room() >= streamRoom)
}

// streamRoom is the room that CanStream asks for, in bytes.
const streamRoom = 64 << 10

// sendBufferLimit is the size that the send buffer may have: two congestion windows, so that the
// next window is ready when one is acknowledged.
func (c *Conn) sendBufferLimit(share int) int {
	return min(max(2*c.cwnd.size, c.cfg.SendBuffer.Initial), c.cfg.SendBuffer.Max, share)
}

// WaitingForMemory reports whether a Write found no memory. Deadline then includes the time of the
// next attempt.
func (c *Conn) WaitingForMemory() bool { return c.memoryRetryAt != 0 }

// memoryRetryInterval is how often a connection without memory tries again.
const memoryRetryInterval = 100 * time.Millisecond

// CloseWrite ends the outgoing stream: a FIN follows the data of the send buffer.
func (c *Conn) CloseWrite(now Time) {
	c.setNow(now)
	if c.finQueued {
		return
	}
	switch c.state {
	case Closed, TimeWait:
		return
	}
	c.finQueued, c.corked, c.more = true, false, false
	c.SendSYN()
	switch c.state {
	case Established:
		c.state = FinWait1
	case CloseWait:
		c.state = LastAck
	} // SYN-SENT and SYN-RECEIVED: synAcknowledged changes the state
}

// Abort ends the connection at once and sends a RST to the peer.
func (c *Conn) Abort(now Time) {
	c.setNow(now)
	notifyPeer, seq := c.state != Closed && c.state != SynSent && c.state != TimeWait, c.acceptableSeq()
	c.fail(Aborted)
	c.rstPending, c.rstSeq, c.rstHasAck = notifyPeer, seq, true
}

// WriteClosed reports whether CloseWrite was called.
func (c *Conn) WriteClosed() bool { return c.finQueued }

// SetNoDelay turns Nagle's algorithm off or on (RFC 9293, section 3.7.4). Turning it off sends all
// waiting data, even if it is corked (as in Linux).
func (c *Conn) SetNoDelay(noDelay bool) {
	c.noDelay = noDelay
	if noDelay {
		c.flushBefore = c.sendEnd()
	}
}

// SetCork turns the cork on or off. While it is on, only full segments are sent.
func (c *Conn) SetCork(cork bool) { c.corked = cork }

// usableWindow is the number of bytes from sndNxt on that the peer accepts (RFC 9293, section
// 3.8.6.2.1). It is negative if the peer has shrunk its window.
func (s *sender) usableWindow() int { return s.sndUna.Add(s.sndWnd).Sub(s.sndNxt) }

// acceptableSeq is the sequence number of a segment without data: SND.NXT, unless the peer has
// shrunk its window below. A segment beyond the window would be dropped with its acknowledgment
// (RFC 9293, section 3.10.7.4), so it has the number of the window's edge (as Linux).
func (c *Conn) acceptableSeq() wire.Seq {
	if c.state.synchronized() && c.usableWindow() < 0 {
		return c.sndUna.Add(c.sndWnd)
	}
	return c.sndNxt
}

// decayIdleCwnd halves the congestion window for each RTO without sending (RFC 2861): what it knew
// of the path has grown old.
func (c *Conn) decayIdleCwnd() {
	if !c.flight.empty() || c.lastSentAt == 0 {
		return
	}
	rto := c.estimator.rto
	for idle := c.now.Sub(c.lastSentAt); idle > rto && c.cwnd.size > initialCwndSegments*c.cwnd.mss; idle -= rto {
		c.cwnd.ssthresh = max(c.cwnd.ssthresh, 3*c.cwnd.size/4)
		c.cwnd.size = max(c.cwnd.size/2, initialCwndSegments*c.cwnd.mss)
	}
}

// currentRTO is the retransmission timeout after exponential backoff.
func (c *Conn) currentRTO() time.Duration { return c.estimator.backedOffRTO(c.rtoBackoff) }
