package tcp

import (
	"time"

	"weir/wire"
)

// sender is the half of a connection that sends. Names as in RFC 9293, section 3.3.1: una is
// SND.UNA, nxt SND.NXT, wnd SND.WND.
type sender struct {
	iss, sndUna, sndNxt wire.Seq
	sndWL1, sndWL2      wire.Seq
	sndWnd, maxSndWnd   int // bytes, scaled
	sndScale            uint8

	sendBuf            ring     // what is to be sent, and what was and is not acknowledged
	sendBufSeq         wire.Seq // where it begins
	finQueued          bool     // behind it comes FIN
	synPending         bool     // a SYN is to be sent
	tlpPending         bool     // a tail loss probe is
	swsOverride        bool     // what waits is to go even if it is little
	flushBefore        wire.Seq // what is before it goes even if it is little, and corked
	windowProbePending bool     // a segment is that the peer answers by its window
	rstPending         bool
	rstSeq             wire.Seq // of the RST
	rstHasAck          bool     // it carries an acknowledgment
	passiveOpen        bool     // it began by the peer's SYN
	noDelay            bool     // small segments go at once (RFC 9293, section 3.7.4)
	corked             bool     // only full segments go
	// the end of the last small segment that was sent (Minshall's variant of Nagle)
	lastSmallEnd          wire.Seq
	writeBlocked          bool   // the application was told that there is no room
	retransmittedSegments uint64 // segments that were sent again
	largestDelivered      int    // the largest payload of a segment that the peer is known to have got

	flight
	estimator
	cwnd       congestionWindow
	cwndUsage  cwndUsage
	congestion congestionControl
	pacing     pacing
	recovery
}

// end is behind the last byte of what is to be sent, without FIN.
func (s *sender) sendEnd() wire.Seq { return s.sendBufSeq.Add(s.sendBuf.length) }

// unsent is how many bytes have not been sent once.
func (s *sender) unsentBytes() int { return max(0, s.sendEnd().Sub(s.sndNxt)) }

// finSent says whether FIN was sent.
func (s *sender) finSent() bool { return s.finQueued && s.sendEnd().Less(s.sndNxt) }

// Write takes bytes to be sent, and says how many there was room for. When it is not all, Writable
// tells of more. There is no room any more behind CloseWrite.
func (c *Conn) Write(now Time, p []byte) int {
	c.setNow(now)
	if c.finQueued || c.state != Established && c.state != CloseWait && c.state != SynSent && c.state != SynReceived {
		return 0
	}
	share := c.cfg.Memory.Share(true)
	n := min(len(p), c.sendBufferLimit(share)-c.sendBuf.length)
	for ; n > 0 && (c.sendBuf.allocationFor(c.sendBuf.length+n) > share || !c.sendBuf.reserve(c.sendBuf.length+n, c.sendBuf.length, c.cfg.Memory)); n /= 2 {
		c.memoryRetryAt = now.Add(memoryRetryInterval) // nobody tells when there is memory again
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
	return n
}

// Room is how many bytes Write would take now.
func (c *Conn) Room() int {
	return max(0, c.sendBufferLimit(c.cfg.Memory.Share(true))-c.sendBuf.length)
}

// sendLimit is how much may wait to be sent or acknowledged: two windows, so that the next is there
// when one is acknowledged.
func (c *Conn) sendBufferLimit(share int) int {
	return min(max(2*c.cwnd.size, c.cfg.SendBuffer.Initial), c.cfg.SendBuffer.Max, share)
}

// Hungry says whether a Write found no memory: Deadline is when to look again.
func (c *Conn) WaitingForMemory() bool { return c.memoryRetryAt != 0 }

// roomEvery is how often a connection looks whether there is memory again.
const memoryRetryInterval = 100 * time.Millisecond

// CloseWrite ends the stream: FIN goes behind what waits.
func (c *Conn) CloseWrite(now Time) {
	c.setNow(now)
	if c.finQueued {
		return
	}
	switch c.state {
	case Closed, TimeWait:
		return
	}
	c.finQueued, c.corked = true, false
	switch c.state {
	case Established:
		c.state = FinWait1
	case CloseWait:
		c.state = LastAck
	} // before: once it is established
}

// Abort ends the connection at once; the peer is told by RST.
func (c *Conn) Abort(now Time) {
	c.setNow(now)
	told := c.state != Closed && c.state != SynSent && c.state != TimeWait
	c.fail(Aborted)
	c.rstPending, c.rstSeq, c.rstHasAck = told, c.sndNxt, true
}

// Closing says whether CloseWrite was called.
func (c *Conn) WriteClosed() bool { return c.finQueued }

// SetNoDelay has small segments sent at once (yes), or only when nothing small is under way (RFC
// 9293, section 3.7.4). What waits then is sent, also if it is corked (as Linux).
func (c *Conn) SetNoDelay(yes bool) {
	c.noDelay = yes
	if yes {
		c.flushBefore = c.sendEnd()
	}
}

// SetCork has only full segments sent until it is taken back.
func (c *Conn) SetCork(yes bool) { c.corked = yes }

// sendWindow is how many bytes from nxt on the peer takes.
func (s *sender) usableWindow() int { return s.sndUna.Add(s.sndWnd).Sub(s.sndNxt) }

// restartAfterIdle has the window be smaller the longer nothing was sent: what it knew of the path
// grows old.
func (c *Conn) decayIdleCwnd() {
	if !c.flight.empty() || c.lastSentAt == 0 {
		return
	}
	rto := c.estimator.rto
	// RFC 2861
	for idle := c.now.Sub(c.lastSentAt); idle > rto && c.cwnd.size > initialCwndSegments*c.cwnd.mss; idle -= rto {
		c.cwnd.ssthresh = max(c.cwnd.ssthresh, 3*c.cwnd.size/4)
		c.cwnd.size = max(c.cwnd.size/2, initialCwndSegments*c.cwnd.mss)
	}
}

// rtoNow is the retransmission time, backed off.
func (c *Conn) currentRTO() time.Duration { return c.estimator.backedOffRTO(c.rtoBackoff) }
