package tcpip

import (
	"net/netip"

	"weir/tcpip/tcp"
	"weir/wire"
)

// tcp takes a segment to its connection, or to a listener.
func (p *packet) tcp() layer {
	v, fault := wire.ParseTCP(p.ip.Payload())
	if fault != wire.OK || !p.good && !v.ChecksumOK(p.ip.Src(), p.ip.Dst()) || p.everybody {
		return p.drop(DropTCPHeader)
	}
	k := tuple{netip.AddrPortFrom(p.ip.Dst(), v.DstPort()), netip.AddrPortFrom(p.ip.Src(), v.SrcPort())}
	seg := tcp.ParseSegment(v)
	c := p.lane.s.conns.get(k)
	if c != nil && !c.arrive(p.lane, &seg, p.now) {
		c = nil // it was in TIME-WAIT, and another begins
	}
	if c == nil {
		if c = p.opened(k, &seg); c == nil {
			return done
		}
	}
	p.lane.touch(c)
	return done
}

// opened is the connection that a SYN opens, if a listener takes it; otherwise whoever sent the segment is told.
func (p *packet) opened(k tuple, seg *tcp.Segment) *Conn {
	s := p.lane.s
	l := s.ports.listener(k.local)
	if l == nil || seg.Flags&(wire.SYN|wire.ACK|wire.RST) != wire.SYN {
		if seg.Flags&wire.RST == 0 {
			s.refuse(k, seg)
		}
		p.drop(DropTCPPort)
		return nil
	}
	if !l.begin() {
		p.drop(DropBacklog)
		return nil
	}
	iss, stamp := s.iss(k)
	c := s.newConn(p.lane, k)
	c.listener = l
	c.tcp = tcp.Accept(c.cfg, iss, stamp, seg, p.now)
	if !s.conns.add(c) {
		l.end()
		return nil
	}
	return c
}

// refuse answers a segment that nobody waits for (RFC 9293, section 3.10.7.1).
func (s *Stack) refuse(k tuple, seg *tcp.Segment) {
	f := wire.TCPFields{Src: k.local, Dst: k.remote, Flags: wire.RST}
	if seg.Flags&wire.ACK != 0 {
		f.Seq = seg.Ack
	} else {
		f.Flags |= wire.ACK
		f.Ack = seg.End()
	}
	s.sendIP(wire.IPv4Fields{DontFragment: true, Protocol: wire.TCPProtocol, Src: k.local.Addr(), Dst: k.remote.Addr()}, wire.AppendTCP(nil, &f)) //nolint:errcheck // it is counted
}
