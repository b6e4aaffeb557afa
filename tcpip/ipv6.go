package tcpip

import (
	"net/netip"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/wire"
)

// ipv6 validates a packet and its addresses, and demultiplexes it: fragments, or the protocol.
func (p *packet) ipv6() layer {
	i := p.reader.iface
	v, fault := wire.ParseIPv6(p.ip)
	if fault != wire.OK || !i.ipv6.Load() {
		return p.drop(DropIPHeader)
	}
	zone := i
	if i.loopback && v[24] == 0xff {
		zone = p.arrivedBy()
	}
	p.ip, p.src, p.dst, p.tos = v, zone.zoned(v.Src()), zone.zoned(v.Dst()), v.TrafficClass()
	accepts, group := i.acceptsDst6(p.dst)
	p.forwarded = !accepts && !p.broadcast && !group && p.reader.s.forwards(p.dst)
	switch {
	case !accepts && !p.forwarded:
		return p.drop(DropNotOurs)
	case i.martianSource6(p.src) && !i.claimsOwnAddr(v):
		return p.drop(DropSource)
	}
	p.broadcast = p.broadcast || group
	x, fault := wire.ParseExtensions(v)
	if fault != wire.OK {
		p.reportExtensions(&x)
		return p.drop(DropOptions)
	}
	p.setExtensions(&x)
	if x.Fragment != nil {
		return fragmentsLayer
	}
	return p.demuxProtocol()
}

// setExtensions sets the fields that the extension headers determine.
func (p *packet) setExtensions(x *wire.Extensions) {
	p.protocol, p.payload, p.nextHeaderAt = x.Protocol, x.Payload, x.NextHeaderAt
}

// reportExtensions sends the Parameter Problem about a packet with a fault in its extension
// headers. Only those about unknown options are also sent about packets for groups (RFC 4443,
// section 2.4 (e.3)).
func (p *packet) reportExtensions(x *wire.Extensions) {
	if x.Silent || p.broadcast && x.SilentToGroups {
		return
	}
	what := icmp.BadHeader
	switch x.Problem {
	case wire.UnknownOption:
		what = icmp.UnknownOption
	case wire.UnknownNextHeader:
		what = icmp.ProtocolUnreachable
	}
	p.reader.iface.sendICMPError(p.ip, p.broadcast, what, x.ProblemAt)
}

// addFragmentLocked gives a fragment of either family to the reassembler. The caller holds fragsMu.
func (p *packet) addFragmentLocked() (whole []byte, outcome ip.Outcome) {
	if p.dst.Is4() {
		return p.reader.s.fragments.Add(wire.IPv4(p.ip), ip.Time(p.now))
	}
	x, _ := wire.ParseExtensions(wire.IPv6(p.ip)) // its layer has found no fault
	return p.reader.s.fragments.Add6(wire.IPv6(p.ip), &x, ip.Time(p.now))
}

// payloadLengthAt is the offset of the Payload Length field, and fragmentOffsetAt that of the
// Fragment Offset field in a fragment header.
const (
	payloadLengthAt  = 4
	fragmentOffsetAt = 2
)

// reportFragment sends the Parameter Problem about a fragment of IPv6 that is discarded, if there
// is one (RFC 8200, section 4.5).
func (p *packet) reportFragment(o ip.Outcome) {
	what, at := icmp.BadHeader, 0
	switch o {
	case ip.BadLength:
		at = payloadLengthAt
	case ip.TooLarge:
		x, _ := wire.ParseExtensions(wire.IPv6(p.ip)) // its layer has found no fault
		at = len(p.ip) - len(x.Payload) - wire.FragmentLen + fragmentOffsetAt
	case ip.IncompleteChain:
		what = icmp.IncompleteChain
	default:
		return
	}
	p.reader.iface.sendICMPError(p.ip, p.broadcast, what, at)
}

// setWhole6 takes the packet that its last fragment has completed. Its extension headers behind the
// fragment header are read now.
func (p *packet) setWhole6(whole wire.IPv6) layer {
	p.ip = whole
	x, fault := wire.ParseExtensions(whole)
	if fault != wire.OK {
		p.reportExtensions(&x)
		return p.drop(DropOptions)
	}
	if x.Fragment != nil { // fragments of fragments are not reassembled
		return p.drop(DropOptions)
	}
	p.setExtensions(&x)
	return p.demuxProtocol()
}

// sendIPv6 sends a packet to a neighbour, as fragments if necessary.
func (l *reader) sendIPv6(f *outgoingPacket, payload []byte, mtu int, hop netip.Addr) {
	h := wire.IPv6Fields{TrafficClass: f.tos, HopLimit: f.ttl, NextHeader: f.protocol, Src: f.src, Dst: f.dst, FlowLabel: l.s.flowLabel(f, payload)}
	ip.Fragment6(h, payload, mtu, func() uint32 { return l.s.packetID6(f.src, f.dst) }, func(header, piece []byte) {
		if f.loopOf != nil {
			l.sendLoop(f, wire.TypeIPv6, header, piece)
			return
		}
		l.counts.sent[payloadKindOf(f.protocol)].Add(1)
		l.sendPacket(hop, f.dst, wire.TypeIPv6, header, piece)
	})
}
