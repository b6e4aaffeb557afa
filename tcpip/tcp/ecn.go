package tcp

import "weir/wire"

// ECN says whether a connection has the network mark segments where it would soon drop some (RFC 3168).
type ECN uint8

// What a connection does about it, as Linux's tcp_ecn.
const (
	AcceptECN ECN = iota // if the peer asks for it
	// it asks too, when it opens actively; with the SYN that is sent first, since some paths lose
	// such
	RequestECN
	NoECN
)

// notice is a connection's explicit congestion notification.
type ecnState struct {
	negotiated bool // both ends do it
	// a segment that came was marked: acknowledgments say so until the peer says that it has slowed
	// down
	sendECE       bool
	sendCWR       bool     // we have slowed down: the next new segment says so
	reducedBefore wire.Seq // what was sent before we did: what is said of it is known
}

const ecnSetup = wire.ECE | wire.CWR

// notify agrees on it, by the peer's SYN.
func (c *Conn) negotiateECN(syn *Segment) {
	c.ecn.reducedBefore = c.iss
	if syn.Flags&wire.ACK != 0 {
		c.ecn.negotiated = c.cfg.ECN == RequestECN && c.synTransmits == 1 && syn.Flags&ecnSetup == wire.ECE
		return
	}
	c.ecn.negotiated = c.cfg.ECN != NoECN && syn.Flags&ecnSetup == ecnSetup
}

// synMarks are a SYN's flags for it.
func (c *Conn) synECNFlags() wire.Flags {
	switch {
	case c.state == SynReceived && c.ecn.negotiated:
		return wire.ECE
	case c.state == SynSent && c.cfg.ECN == RequestECN && c.synTransmits == 0:
		return ecnSetup
	}
	return 0
}

// marked takes what a segment says of the path that it came by, and of the one that ours take.
func (c *Conn) processECN(s *Segment) {
	if s.Flags&wire.CWR != 0 && len(s.Payload) > 0 {
		c.ecn.sendECE = false
	}
	if s.CE {
		c.ecn.sendECE = true
		c.quickACKs = max(c.quickACKs, 1)
	}
	if s.Flags&wire.ECE != 0 && c.ecn.reducedBefore.Less(c.sndUna) && c.phase == phaseOpen {
		// as of a loss, and once in a window (section 6.1.2)
		c.cwnd.ssthresh = c.congestion.onLoss(&c.cwnd, c.now)
		c.cwnd.size = min(c.cwnd.size, c.cwnd.ssthresh)
		c.ecn.sendCWR, c.ecn.reducedBefore = true, c.sndNxt
	}
}

// mark has a segment with new data be marked by the network, and says that we have slowed down.
func (c *Conn) setECN(s *OutSegment) {
	s.ECT = true
	if c.ecn.sendCWR {
		s.Flags |= wire.CWR
		c.ecn.sendCWR = false
	}
}
