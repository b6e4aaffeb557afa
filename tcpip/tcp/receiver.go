package tcp

import (
	"time"

	"weir/wire"
)

// receiver is the half of a connection that receives. rcv is RCV.NXT.
type receiver struct {
	irs, rcv   wire.Seq
	in         inbound // what has come; n bytes of it in order
	lending    bool    // the segment that arrives may stay where it is
	gaps       ranges
	advertised wire.Seq // the right edge of the window that the peer was told
	limit      int      // of in, as it is tuned
	scale      uint8
	finAt      wire.Seq // where FIN is
	finKnown   bool     // it has come, if perhaps behind a gap
	fin        bool     // it was received in order: behind the bytes comes the end
	lastAck    wire.Seq // what was acknowledged last

	ackNow    bool       // an acknowledgment is to be sent with this Output
	pending   int        // bytes received and not acknowledged
	quick     int        // acknowledgments that are not delayed, still
	dataAt    Time       // when data last came in order; 0: never
	duplicate wire.Block // to be reported (RFC 2883); empty: none

	orphan  bool          // nobody reads any more
	lingers bool          // linger is set
	linger  time.Duration // what is not acknowledged so long after that is thrown away

	// there was no memory: the window is closed, even if the peer was told otherwise before
	shut    bool
	starved int // segments that there was no memory for, and that nobody was told of yet

	tune tuning
}

// Acknowledgments.
const (
	// in a row that are not delayed: at first, when the peer is in slow start and needs every one,
	// and behind gaps (as Linux)
	quickMost   = 16
	ackDelay    = 40 * time.Millisecond  // as Linux' least; RFC 9293 has at most 500
	answerEvery = 500 * time.Millisecond // RFC 5961, section 7, and as Linux
)

// span is how many bytes of the limit are taken: those in order, and up to the end of those behind
// gaps.
func (r *receiver) span() int {
	if len(r.gaps.all) > 0 {
		return r.in.n + r.gaps.end().Sub(r.rcv)
	}
	return r.in.n
}

// Buffered is how many bytes Read would give.
func (c *Conn) Buffered() int { return c.in.n }

// AtEnd says whether there is nothing to read any more, nor will be.
func (c *Conn) AtEnd() bool { return c.in.n == 0 && (c.fin || c.state == Closed) }

// PeerFinished reports whether all that the peer has to send has come, up to its FIN.
func (c *Conn) PeerFinished() bool { return c.fin }

// Read gives bytes that have come, in order. When there are none, Readable tells of more; AtEnd
// says whether there will be.
func (c *Conn) Read(now Time, p []byte) int {
	c.at(now)
	n := min(len(p), c.in.n)
	if n == 0 {
		return 0
	}
	c.in.get(p[:n])
	c.taken(n)
	return n
}

// starve notes that there was no memory for a segment. The window is closed: peers that send for
// nothing would wait longer and longer until they send again, when one that finds it closed goes on
// as soon as it opens (as Linux since 6.6).
func (c *Conn) starve() {
	c.starved++
	c.events |= Starved
	c.shut, c.ackNow = true, true
	if edge := c.rcv.Add(c.room()); edge.Less(c.advertised) {
		c.advertised = edge
	}
	c.roomAt = c.now.Add(roomEvery)
}

// reopen opens the window again when there is memory.
func (c *Conn) reopen() {
	if c.room() < min(c.limit/2, c.mss) {
		c.roomAt = c.now.Add(roomEvery)
		return
	}
	c.shut, c.ackNow = false, true
}

// Starved is how many segments had to be dropped since this was last called, because there was no
// memory: the event of this name says that there are any.
func (c *Conn) Starved() int {
	n := c.starved
	c.starved = 0
	return n
}

// offer has an acknowledgment sent if the window can now be opened by enough to be worth it (RFC
// 9293, section 3.8.6.2.2).
func (c *Conn) offer() {
	if c.state == Closed || c.fin {
		return
	}
	now := c.advertised.Sub(c.rcv)
	if opened := c.room() - now; opened >= max(c.limit/2, c.mss) || now < c.mss && opened >= min(c.limit/2, c.mss) {
		c.ackNow = true
	}
}

// room is how many bytes from rcv on there is room for.
func (c *Conn) room() int {
	return min(max(0, min(c.limit, c.cfg.Memory.Share(false))-c.in.n), 65535<<c.scale)
}

// window is what to tell the peer, scaled. It never takes back what was told.
func (c *Conn) window(scale uint8) uint16 {
	if c.shut {
		return 0
	}
	told := max(0, c.advertised.Sub(c.rcv)) // a FIN may lie one behind the edge
	room := c.room()
	if room > told && room-told < min(c.limit/2, c.mss) {
		room = told // a little more is not worth a silly window
	}
	room = max(room, told)
	field := min(room>>scale, 65535)
	if edge := c.rcv.Add(field << scale); c.advertised.Less(edge) {
		c.advertised = edge
	}
	return uint16(field)
}

// tuning finds out how much the application reads in a round trip, and has the buffer hold twice
// that (dynamic right-sizing, as Linux).
type tuning struct {
	begun  Time
	copied int           // bytes read since
	space  int           // bytes read in the best round trip before
	rtt    time.Duration // the receiver's own measure; 0: none
	edge   wire.Seq      // when the stream is here, a window has come: a round trip has gone by
	edgeAt Time
}

// tuned takes note of bytes that were read.
func (c *Conn) tuned(n int) {
	t := &c.tune
	t.copied += n
	rtt := t.rtt
	if c.estimator.srtt > 0 && (rtt == 0 || c.estimator.srtt < rtt) {
		rtt = c.estimator.srtt
	}
	if t.begun == 0 {
		t.begun = c.now
	}
	if rtt == 0 || c.now.Sub(t.begun) < rtt {
		return
	}
	if t.copied > t.space && c.cfg.Memory.Share(false) == Plenty {
		want := int64(2*t.copied + 16*c.mss)
		if t.space > 0 { // the peer goes faster and faster: in the next round trips too
			want += 2 * want * int64(t.copied-t.space) / int64(t.space)
		}
		c.limit = max(c.limit, int(min(want, int64(c.cfg.Receive.Most))))
		t.space = t.copied
	}
	t.begun, t.copied = c.now, 0
}

// arrived takes note of how long a window took to come: a round trip at least.
func (t *tuning) arrived(rcv wire.Seq, window int, now Time) {
	if t.edgeAt != 0 && rcv.Less(t.edge) {
		return
	}
	if t.edgeAt != 0 {
		if rtt := now.Sub(t.edgeAt); t.rtt == 0 || rtt < t.rtt {
			t.rtt = rtt
		} else {
			t.rtt += (rtt - t.rtt) / 8
		}
	}
	t.edge, t.edgeAt = rcv.Add(window), now
}
