package tcpip

import (
	"weir/tcpip/icmp"
	"weir/wire"
)

// icmp6 answers echo requests, and passes errors and messages of neighbour discovery on.
func (p *packet) icmp6() layer {
	m, fault := wire.ParseICMPv6(p.payload)
	if fault != wire.OK || !p.checksumOK && !m.ChecksumOK(p.src, p.dst) {
		return p.drop(DropICMP)
	}
	switch t := m.Type(); {
	case p.forwarded && t >= wire.RouterSolicit && t <= wire.Redirect6:
		return p.drop(DropNotOurs) // it concerns the link only
	case t >= wire.RouterSolicit && t <= wire.Redirect6:
		return p.neighbourDiscovery(m)
	case p.src.IsUnspecified():
		return p.drop(DropSource)
	case t == wire.EchoRequest6 && p.forwarded:
		return p.forwardEcho(m.RestOfHeader(), m.Body())
	case t == wire.EchoRequest6:
		if p.broadcast {
			return p.drop(DropICMP) // an answer would amplify
		}
		p.answerEcho6(m)
		return consumed
	case t == wire.EchoReply6:
		p.reader.s.sockets.deliverEchoReply(p.src, m.EchoID(), m.Body())
		return consumed
	case t == wire.ListenerQuery || t == wire.ListenerReport1 || t == wire.ListenerReport2 || t == wire.ListenerDone:
		return p.mld(m)
	}
	r, ok := icmp.ParseErrorV6(m)
	if !ok {
		return p.drop(DropICMP)
	}
	r.Src, r.Dst = p.reader.iface.zoned(r.Src), p.reader.iface.zoned(r.Dst)
	return p.receiveError(r)
}

// answerEcho6 sends an echo reply: the same data and the same traffic class (RFC 4443, section
// 4.2).
func (p *packet) answerEcho6(m wire.ICMPv6) {
	b := messagePool.Get().(*[]byte)
	*b = wire.AppendICMPv6((*b)[:0], p.dst, p.src, wire.EchoReply6, 0, m.RestOfHeader(), m.Body())
	p.reader.s.sendIP(outgoingPacket{tos: p.tos, protocol: wire.ICMPv6Protocol, src: p.dst, dst: p.src}, *b) //nolint:errcheck // it is counted
	if cap(*b) <= 4096 {
		messagePool.Put(b)
	}
}
