package tcp

import "weir/wire"

// ECN says whether a connection has the network mark segments where it would soon drop some (RFC 3168).
type ECN uint8

// What a connection does about it, as Linux's tcp_ecn.
const (
	AcceptECN ECN = iota // if the peer asks for it
	// it asks too, when it opens actively; with the SYN that is sent first, since some paths lose
	// such
	AskECN
	NoECN
)

// notice is a connection's explicit congestion notification.
type notice struct {
	agreed bool // both ends do it
	// a segment that came was marked: acknowledgments say so until the peer says that it has slowed
	// down
	echo   bool
	slowed bool     // we have slowed down: the next new segment says so
	until  wire.Seq // what was sent before we did: what is said of it is known
}

const marks = wire.ECE | wire.CWR

// notify agrees on it, by the peer's SYN.
func (c *Conn) notify(syn *Segment) {
	c.notice.until = c.iss
	if syn.Flags&wire.ACK != 0 {
		c.notice.agreed = c.cfg.ECN == AskECN && c.synTries == 1 && syn.Flags&marks == wire.ECE
		return
	}
	c.notice.agreed = c.cfg.ECN != NoECN && syn.Flags&marks == marks
}

// synMarks are a SYN's flags for it.
func (c *Conn) synMarks() wire.Flags {
	switch {
	case c.state == SynReceived && c.notice.agreed:
		return wire.ECE
	case c.state == SynSent && c.cfg.ECN == AskECN && c.synTries == 0:
		return marks
	}
	return 0
}

// marked takes what a segment says of the path that it came by, and of the one that ours take.
func (c *Conn) marked(s *Segment) {
	if s.Flags&wire.CWR != 0 && len(s.Payload) > 0 {
		c.notice.echo = false
	}
	if s.Marked {
		c.notice.echo = true
		c.quick = max(c.quick, 1)
	}
	if s.Flags&wire.ECE != 0 && c.notice.until.Less(c.una) && c.phase == open {
		// as of a loss, and once in a window (section 6.1.2)
		c.cwnd.threshold = c.control.threshold(&c.cwnd, c.now)
		c.cwnd.size = min(c.cwnd.size, c.cwnd.threshold)
		c.notice.slowed, c.notice.until = true, c.nxt
	}
}

// mark has a segment with new data be marked by the network, and says that we have slowed down.
func (c *Conn) mark(s *Sending) {
	s.Capable = true
	if c.notice.slowed {
		s.Flags |= wire.CWR
		c.notice.slowed = false
	}
}
