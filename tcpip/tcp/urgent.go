package tcp

import "weir/wire"

// urgent are the urgent pointers (RFC 9293, section 3.8.5): what they point out stays in the
// stream, and is read in its turn (RFC 6093).
type urgent struct {
	// what was written is urgent, up to before behind, and not all of it is acknowledged
	sndUrgent bool
	sndUp     wire.Seq // what is not urgent any more begins there (RFC 6093, section 4)
	rcvUrgent bool     // the peer has said so of what it sends, up to before toldTo
	rcvUp     wire.Seq
}

// Urge has the peer told that the next n bytes to be written are urgent, and so is all before them.
func (c *Conn) MarkUrgent(n int) { c.urgent.sndUrgent, c.urgent.sndUp = true, c.sendEnd().Add(n) }

// Urgent is how many of the bytes to read next the peer says to be urgent, those that have not come
// yet included; 0: none.
func (c *Conn) UrgentBytes() int {
	if !c.urgent.rcvUrgent {
		return 0
	}
	ahead := c.urgent.rcvUp.Sub(c.rcvNxt.Add(-c.recvBuf.length))
	if ahead <= 0 {
		c.urgent.rcvUrgent = false
		return 0
	}
	return ahead
}

// point puts the pointer in a segment.
func (u *urgent) setPointer(s *OutSegment) {
	if ahead := u.sndUp.Sub(s.Seq); ahead > 0 && ahead <= 0xffff {
		s.Flags |= wire.URG
		s.Urgent = uint16(ahead)
	}
}

// pointed takes the pointer of a segment.
func (c *Conn) receiveUrgent(s *Segment) {
	to := s.Seq.Add(int(s.Urgent))
	if c.finReceived || to.LessEq(c.rcvNxt.Add(-c.recvBuf.length)) || c.UrgentBytes() > 0 && to.LessEq(c.urgent.rcvUp) {
		return
	}
	c.urgent.rcvUrgent, c.urgent.rcvUp = true, to
	c.events |= Urgent
}
