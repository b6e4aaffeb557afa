package tcp

import (
	"time"

	"weir/wire"
)

// receiver is the receiving half of a connection. irs is IRS, rcvNxt is RCV.NXT (RFC 9293, section
// 3.3.1).
type receiver struct {
	irs, rcvNxt wire.Seq
	recvBuf     receiveBuffer // received data; its first length bytes are in order
	lendPayload bool          // the arriving payload may stay in the packet: see ArriveLent
	outOfOrder  rangeSet      // data received beyond a gap
	rcvWndEdge  wire.Seq      // right edge of the window last advertised: RCV.NXT + RCV.WND
	recvLimit   int           // size that recvBuf may have, in bytes; tuning raises it
	rcvScale    uint8         // window scale of the windows that this end advertises
	finSeq      wire.Seq      // sequence number of the peer's FIN, if finKnown
	finKnown    bool          // the FIN was received, perhaps beyond a gap
	finReceived bool          // the FIN was received in order
	lastAckSent wire.Seq      // Last.ACK.sent (RFC 7323, section 4.3)

	ackPending   bool       // the next Output must send an acknowledgment
	unackedBytes int        // received in order and not acknowledged
	quickACKs    int        // next acknowledgments that are not delayed
	lastDataAt   Time       // when data was last received in order; 0: never
	pendingDSACK wire.Block // duplicate to report (RFC 2883); empty: none

	orphaned      bool          // Orphan was called: the application does not read any more
	heavy         bool          // the client has many connections: see SetHeavy
	lingerSet     bool          // SetLinger was called with a time that is not negative
	lingerTimeout time.Duration // after Orphan, unacknowledged data is discarded after this time

	// windowShut is set when a segment was dropped for want of memory. The advertised window is
	// then zero, even if a larger one was advertised before.
	windowShut      bool
	receivedTotal   uint64 // bytes received in order since the connection began
	starvedSegments int    // segments dropped for want of memory, not yet reported

	tune tuning
}

// Limits and intervals of acknowledgments.
const (
	// maxQuickACKs is how many acknowledgments in a row are not delayed: at first, when the peer is
	// in slow start and needs each, and after a gap (as in Linux).
	maxQuickACKs = 16
	// Linux's minimum; RFC 9293, section 3.8.6.3, allows up to 500 ms
	delayedACKTimeout = 40 * time.Millisecond
	// RFC 5961, section 7; the interval is that of Linux
	challengeACKInterval = 500 * time.Millisecond
)

// occupied is how much of recvLimit is used: the bytes in order, and the rest up to the end of the
// out-of-order data.
func (r *receiver) occupied() int {
	if len(r.outOfOrder.blocks) > 0 {
		return r.recvBuf.length + r.outOfOrder.end().Sub(r.rcvNxt)
	}
	return r.recvBuf.length
}

// Buffered is the number of bytes that Read would return.
func (c *Conn) Buffered() int { return c.recvBuf.length }

// AtEnd reports whether all data was read and no more can arrive.
func (c *Conn) AtEnd() bool { return c.recvBuf.length == 0 && (c.finReceived || c.state == Closed) }

// PeerFinished reports whether the peer's whole stream, up to its FIN, was received.
func (c *Conn) PeerFinished() bool { return c.finReceived }

// Read copies received bytes into p, in order, and returns how many. When there are none, the event
// Readable follows with the next; AtEnd reports whether there will be any.
func (c *Conn) Read(now Time, p []byte) int {
	c.setNow(now)
	n := min(len(p), c.recvBuf.length)
	if n == 0 {
		return 0
	}
	c.recvBuf.get(p[:n])
	c.consumed(n)
	return n
}

// dropForMemory handles a segment that there is no memory for: it closes the receive window (as
// Linux since 6.6). A peer whose segments are dropped backs off its retransmissions; a peer that
// sees a zero window resumes as soon as it opens.
func (c *Conn) dropForMemory() {
	c.starvedSegments++
	c.events |= Starved
	c.windowShut, c.ackPending = true, true
	if edge := c.rcvNxt.Add(c.receiveRoom()); edge.Less(c.rcvWndEdge) {
		c.rcvWndEdge = edge
	}
	c.memoryRetryAt = c.now.Add(memoryRetryInterval)
}

// reopenWindow opens the receive window again when there is memory.
func (c *Conn) reopenWindow() {
	if c.receiveRoom() < min(c.recvLimit/2, c.mss) {
		c.memoryRetryAt = c.now.Add(memoryRetryInterval)
		return
	}
	c.windowShut, c.ackPending = false, true
}

// TakeStarved returns how many segments were dropped for want of memory since the last call. The
// event Starved says that there are some.
func (c *Conn) TakeStarved() int {
	n := c.starvedSegments
	c.starvedSegments = 0
	return n
}

// updateWindow schedules a window update if the window can open far enough: receiver silly window
// syndrome avoidance (RFC 9293, section 3.8.6.2.2).
func (c *Conn) updateWindow() {
	if c.state == Closed || c.finReceived {
		return
	}
	advertised := c.rcvWndEdge.Sub(c.rcvNxt)
	if opened := c.receiveRoom() - advertised; opened >= max(c.recvLimit/2, c.mss) || advertised < c.mss && opened >= min(c.recvLimit/2, c.mss) {
		c.ackPending = true
	}
}

// receiveRoom is how many bytes from rcvNxt on can be received.
func (c *Conn) receiveRoom() int {
	return min(max(0, min(c.recvLimit, c.memory().Share(false))-c.recvBuf.length), 65535<<c.rcvScale)
}

// advertiseWindow returns the window field of a segment, scaled, and records its right edge. The
// right edge never moves left (RFC 9293, section 3.8.6).
func (c *Conn) advertiseWindow(scale uint8) uint16 {
	if c.windowShut {
		return 0
	}
	advertised := max(0, c.rcvWndEdge.Sub(c.rcvNxt)) // below zero after a FIN at the edge
	room := c.receiveRoom()
	if room > advertised && room-advertised < min(c.recvLimit/2, c.mss) {
		room = advertised // avoid the silly window syndrome
	}
	room = max(room, advertised)
	field := min(room>>scale, 65535)
	if edge := c.rcvNxt.Add(field << scale); c.rcvWndEdge.Less(edge) {
		c.rcvWndEdge = edge
	}
	return uint16(field)
}

// tuning measures how much the application reads in a round trip and lets the receive buffer hold
// twice that (dynamic right-sizing, as in Linux).
type tuning struct {
	startedAt      Time          // start of the current measurement; 0: none
	bytesRead      int           // by the application since startedAt
	bestBytesRead  int           // most bytes read in an earlier round trip
	rtt            time.Duration // the receiver's own estimate; 0: none
	roundEdge      wire.Seq      // a round trip is over when rcvNxt reaches it
	roundStartedAt Time          // when roundEdge was set; 0: never
}

// tuneReceiveBuffer counts n bytes that the application read, and raises recvLimit once a round
// trip.
func (c *Conn) tuneReceiveBuffer(n int) {
	t := &c.tune
	t.bytesRead += n
	rtt := t.rtt
	if c.estimator.srtt > 0 && (rtt == 0 || c.estimator.srtt < rtt) {
		rtt = c.estimator.srtt
	}
	if t.startedAt == 0 {
		t.startedAt = c.now
	}
	if rtt == 0 || c.now.Sub(t.startedAt) < rtt {
		return
	}
	if t.bytesRead > t.bestBytesRead && c.memory().Share(false) == Unlimited {
		want := int64(2*t.bytesRead + 16*c.mss)
		if t.bestBytesRead > 0 { // the rate grows, and will in the next round trips too
			want += 2 * want * int64(t.bytesRead-t.bestBytesRead) / int64(t.bestBytesRead)
		}
		c.recvLimit = max(c.recvLimit, int(min(want, int64(c.cfg.ReceiveBuffer.Max))))
		t.bestBytesRead = t.bytesRead
	}
	t.startedAt, t.bytesRead = c.now, 0
}

// measureRTT estimates the round-trip time as the time in which a window of data arrives, which is
// at least one.
func (t *tuning) measureRTT(rcv wire.Seq, window int, now Time) {
	if t.roundStartedAt != 0 && rcv.Less(t.roundEdge) {
		return
	}
	if t.roundStartedAt != 0 {
		if rtt := now.Sub(t.roundStartedAt); t.rtt == 0 || rtt < t.rtt {
			t.rtt = rtt
		} else {
			t.rtt += (rtt - t.rtt) / 8
		}
	}
	t.roundEdge, t.roundStartedAt = rcv.Add(window), now
}
