package tcp

import "weir/wire"

// urgent are the urgent pointers (RFC 9293, section 3.8.5): what they point out stays in the
// stream, and is read in its turn (RFC 6093).
type urgent struct {
	// what was written is urgent, up to before behind, and not all of it is acknowledged
	says   bool
	behind wire.Seq // what is not urgent any more begins there (RFC 6093, section 4)
	told   bool     // the peer has said so of what it sends, up to before toldTo
	toldTo wire.Seq
}

// Urge has the peer told that the next n bytes to be written are urgent, and so is all before them.
func (c *Conn) Urge(n int) { c.urgent.says, c.urgent.behind = true, c.end().Add(n) }

// Urgent is how many of the bytes to read next the peer says to be urgent, those that have not come
// yet included; 0: none.
func (c *Conn) Urgent() int {
	if !c.urgent.told {
		return 0
	}
	ahead := c.urgent.toldTo.Sub(c.rcv.Add(-c.in.n))
	if ahead <= 0 {
		c.urgent.told = false
		return 0
	}
	return ahead
}

// point puts the pointer in a segment.
func (u *urgent) point(s *Sending) {
	if ahead := u.behind.Sub(s.Seq); ahead > 0 && ahead <= 0xffff {
		s.Flags |= wire.URG
		s.Urgent = uint16(ahead)
	}
}

// pointed takes the pointer of a segment.
func (c *Conn) pointed(s *Segment) {
	to := s.Seq.Add(int(s.Urgent))
	if c.fin || to.LessEq(c.rcv.Add(-c.in.n)) || c.Urgent() > 0 && to.LessEq(c.urgent.toldTo) {
		return
	}
	c.urgent.told, c.urgent.toldTo = true, to
	c.events |= Urgent
}
