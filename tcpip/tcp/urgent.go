package tcp

import "weir/wire"

// urgent holds the urgent pointers (RFC 9293, section 3.8.5). Urgent data stays in the stream and
// is read in order (RFC 6093).
type urgent struct {
	sndUrgent bool     // urgent data was written, and not all of it is acknowledged
	sndUp     wire.Seq // SND.UP: sequence number after our urgent data (RFC 6093, section 4)
	rcvUrgent bool     // the peer has sent an urgent pointer
	rcvUp     wire.Seq // RCV.UP: sequence number after the peer's urgent data
}

// MarkUrgent marks the next n bytes to be written, and all before them, as urgent.
func (c *Conn) MarkUrgent(n int) { c.urgent.sndUrgent, c.urgent.sndUp = true, c.sendEnd().Add(n) }

// UrgentBytes is how many of the next bytes to read are urgent, including those that have not
// arrived; 0: none.
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

// setPointer sets the urgent pointer of a segment.
func (u *urgent) setPointer(s *OutSegment) {
	if ahead := u.sndUp.Sub(s.Seq); ahead > 0 && ahead <= 0xffff {
		s.Flags |= wire.URG
		s.Urgent = uint16(ahead)
	}
}

// receiveUrgent processes the urgent pointer of a segment.
func (c *Conn) receiveUrgent(s *Segment) {
	to := s.Seq.Add(int(s.Urgent))
	if c.finReceived || to.LessEq(c.rcvNxt.Add(-c.recvBuf.length)) || c.UrgentBytes() > 0 && to.LessEq(c.urgent.rcvUp) {
		return
	}
	c.urgent.rcvUrgent, c.urgent.rcvUp = true, to
	c.events |= Urgent
}
