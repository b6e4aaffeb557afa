package tcp

import "weir/wire"

// ECN is whether a connection uses explicit congestion notification (RFC 3168).
type ECN uint8

// Whether a connection uses ECN, as Linux's tcp_ecn.
const (
	AcceptECN ECN = iota // use ECN if the peer requests it
	// request ECN too on an active open, in the first SYN only: some paths drop such SYNs
	RequestECN
	NoECN // never use ECN
)

// ecnState is a connection's explicit congestion notification (RFC 3168).
type ecnState struct {
	negotiated bool // both ends use ECN
	// sendECE is set after a CE mark: acknowledgments carry ECN-Echo until the peer sends CWR
	// (section 6.1.3).
	sendECE bool
	sendCWR bool // the window was reduced: the next new segment carries CWR (section 6.1.2)
	// reducedBefore is SND.NXT at the last reduction: ECN-Echo for data before it is not news.
	reducedBefore wire.Seq
}

// ecnSetup are the flags of an ECN-setup SYN (RFC 3168, section 6.1.1).
const ecnSetup = wire.ECE | wire.CWR

// negotiateECN decides from the peer's SYN whether both ends use ECN (RFC 3168, section 6.1.1).
func (c *Conn) negotiateECN(syn *Segment) {
	c.ecn.reducedBefore = c.iss
	if syn.Flags&wire.ACK != 0 {
		c.ecn.negotiated = c.cfg.ECN == RequestECN && c.synTransmits == 1 && syn.Flags&ecnSetup == wire.ECE
		return
	}
	c.ecn.negotiated = c.cfg.ECN != NoECN && syn.Flags&ecnSetup == ecnSetup
}

// synECNFlags returns the ECN flags of a SYN or SYN,ACK.
func (c *Conn) synECNFlags() wire.Flags {
	switch {
	case c.state == SynReceived && c.ecn.negotiated:
		return wire.ECE
	case c.state == SynSent && c.cfg.ECN == RequestECN && c.synTransmits == 0:
		return ecnSetup
	}
	return 0
}

// processECN processes the ECN flags of a segment: CE of the path to this end, ECN-Echo of the path
// to the peer.
func (c *Conn) processECN(s *Segment) {
	if s.Flags&wire.CWR != 0 && len(s.Payload) > 0 {
		c.ecn.sendECE = false
	}
	if s.CE {
		c.ecn.sendECE = true
		c.quickACKs = max(c.quickACKs, 1)
	}
	if s.Flags&wire.ECE != 0 && c.ecn.reducedBefore.Less(c.sndUna) && c.phase == phaseOpen {
		// react as to a loss, at most once a window of data (section 6.1.2)
		c.cwnd.ssthresh = c.congestion.onLoss(&c.cwnd, c.now)
		c.cwnd.size = min(c.cwnd.size, c.cwnd.ssthresh)
		c.ecn.sendCWR, c.ecn.reducedBefore = true, c.sndNxt
	}
}

// setECN marks a segment with new data as ECN-capable, and sets CWR after a reduction.
func (c *Conn) setECN(s *OutSegment) {
	s.ECT = true
	if c.ecn.sendCWR {
		s.Flags |= wire.CWR
		c.ecn.sendCWR = false
	}
}
