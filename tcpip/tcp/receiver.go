package tcp

import (
	"time"

	"weir/wire"
)

// receiver is the half of a connection that receives. rcv is RCV.NXT.
type receiver struct {
	irs, rcvNxt wire.Seq
	recvBuf     receiveBuffer // what has come; n bytes of it in order
	lendPayload bool          // the segment that arrives may stay where it is
	outOfOrder  rangeSet
	rcvWndEdge  wire.Seq // the right edge of the window that the peer was told
	recvLimit   int      // of in, as it is tuned
	rcvScale    uint8
	finSeq      wire.Seq // where FIN is
	finKnown    bool     // it has come, if perhaps behind a gap
	finReceived bool     // it was received in order: behind the bytes comes the end
	lastAckSent wire.Seq // what was acknowledged last

	ackPending   bool       // an acknowledgment is to be sent with this Output
	unackedBytes int        // bytes received and not acknowledged
	quickACKs    int        // acknowledgments that are not delayed, still
	lastDataAt   Time       // when data last came in order; 0: never
	pendingDSACK wire.Block // to be reported (RFC 2883); empty: none

	orphaned      bool          // nobody reads any more
	lingerSet     bool          // linger is set
	lingerTimeout time.Duration // what is not acknowledged so long after that is thrown away

	// there was no memory: the window is closed, even if the peer was told otherwise before
	windowShut      bool
	starvedSegments int // segments that there was no memory for, and that nobody was told of yet

	tune tuning
}

// Acknowledgments.
const (
	// in a row that are not delayed: at first, when the peer is in slow start and needs every one,
	// and behind gaps (as Linux)
	maxQuickACKs         = 16
	delayedACKTimeout    = 40 * time.Millisecond  // as Linux' least; RFC 9293 has at most 500
	challengeACKInterval = 500 * time.Millisecond // RFC 5961, section 7, and as Linux
)

// span is how many bytes of the limit are taken: those in order, and up to the end of those behind
// gaps.
func (r *receiver) occupied() int {
	if len(r.outOfOrder.blocks) > 0 {
		return r.recvBuf.length + r.outOfOrder.end().Sub(r.rcvNxt)
	}
	return r.recvBuf.length
}

// Buffered is how many bytes Read would give.
func (c *Conn) Buffered() int { return c.recvBuf.length }

// AtEnd says whether there is nothing to read any more, nor will be.
func (c *Conn) AtEnd() bool { return c.recvBuf.length == 0 && (c.finReceived || c.state == Closed) }

// PeerFinished reports whether all that the peer has to send has come, up to its FIN.
func (c *Conn) PeerFinished() bool { return c.finReceived }

// Read gives bytes that have come, in order. When there are none, Readable tells of more; AtEnd
// says whether there will be.
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

// starve notes that there was no memory for a segment. The window is closed: peers that send for
// nothing would wait longer and longer until they send again, when one that finds it closed goes on
// as soon as it opens (as Linux since 6.6).
func (c *Conn) dropForMemory() {
	c.starvedSegments++
	c.events |= Starved
	c.windowShut, c.ackPending = true, true
	if edge := c.rcvNxt.Add(c.receiveRoom()); edge.Less(c.rcvWndEdge) {
		c.rcvWndEdge = edge
	}
	c.memoryRetryAt = c.now.Add(memoryRetryInterval)
}

// reopen opens the window again when there is memory.
func (c *Conn) reopenWindow() {
	if c.receiveRoom() < min(c.recvLimit/2, c.mss) {
		c.memoryRetryAt = c.now.Add(memoryRetryInterval)
		return
	}
	c.windowShut, c.ackPending = false, true
}

// Starved is how many segments had to be dropped since this was last called, because there was no
// memory: the event of this name says that there are any.
func (c *Conn) TakeStarved() int {
	n := c.starvedSegments
	c.starvedSegments = 0
	return n
}

// offer has an acknowledgment sent if the window can now be opened by enough to be worth it (RFC
// 9293, section 3.8.6.2.2).
func (c *Conn) updateWindow() {
	if c.state == Closed || c.finReceived {
		return
	}
	now := c.rcvWndEdge.Sub(c.rcvNxt)
	if opened := c.receiveRoom() - now; opened >= max(c.recvLimit/2, c.mss) || now < c.mss && opened >= min(c.recvLimit/2, c.mss) {
		c.ackPending = true
	}
}

// room is how many bytes from rcv on there is room for.
func (c *Conn) receiveRoom() int {
	return min(max(0, min(c.recvLimit, c.cfg.Memory.Share(false))-c.recvBuf.length), 65535<<c.rcvScale)
}

// window is what to tell the peer, scaled. It never takes back what was told.
func (c *Conn) advertiseWindow(scale uint8) uint16 {
	if c.windowShut {
		return 0
	}
	told := max(0, c.rcvWndEdge.Sub(c.rcvNxt)) // a FIN may lie one behind the edge
	room := c.receiveRoom()
	if room > told && room-told < min(c.recvLimit/2, c.mss) {
		room = told // a little more is not worth a silly window
	}
	room = max(room, told)
	field := min(room>>scale, 65535)
	if edge := c.rcvNxt.Add(field << scale); c.rcvWndEdge.Less(edge) {
		c.rcvWndEdge = edge
	}
	return uint16(field)
}

// tuning finds out how much the application reads in a round trip, and has the buffer hold twice
// that (dynamic right-sizing, as Linux).
type tuning struct {
	startedAt      Time
	bytesRead      int           // bytes read since
	bestBytesRead  int           // bytes read in the best round trip before
	rtt            time.Duration // the receiver's own measure; 0: none
	roundEdge      wire.Seq      // when the stream is here, a window has come: a round trip has gone by
	roundStartedAt Time
}

// tuned takes note of bytes that were read.
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
	if t.bytesRead > t.bestBytesRead && c.cfg.Memory.Share(false) == Unlimited {
		want := int64(2*t.bytesRead + 16*c.mss)
		if t.bestBytesRead > 0 { // the peer goes faster and faster: in the next round trips too
			want += 2 * want * int64(t.bytesRead-t.bestBytesRead) / int64(t.bestBytesRead)
		}
		c.recvLimit = max(c.recvLimit, int(min(want, int64(c.cfg.ReceiveBuffer.Max))))
		t.bestBytesRead = t.bytesRead
	}
	t.startedAt, t.bytesRead = c.now, 0
}

// arrived takes note of how long a window took to come: a round trip at least.
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
