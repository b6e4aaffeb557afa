package netsim

import (
	"fmt"
	"net/netip"

	"weir/wire"
)

// summary describes a packet in a line, as tcpdump does.
func summary(b []byte) string {
	if len(b) == 0 {
		return "no packet"
	}
	if b[0]>>4 == 6 {
		p, fault := wire.ParseIPv6(b)
		if fault != wire.OK {
			return "malformed IPv6"
		}
		return transport(p.Src(), p.Dst(), p.NextHeader(), p.Payload())
	}
	p, fault := wire.ParseIPv4(b)
	if fault != wire.OK {
		return "malformed IPv4"
	}
	if p.FragmentOffset() > 0 {
		return fmt.Sprintf("%v > %v: fragment at %d of %d bytes", p.Src(), p.Dst(), p.FragmentOffset(), len(p.Payload()))
	}
	return transport(p.Src(), p.Dst(), p.Protocol(), p.Payload())
}

func transport(src, dst netip.Addr, protocol wire.Protocol, b []byte) string {
	switch protocol {
	case wire.TCPProtocol:
		if s, fault := wire.ParseTCP(b); fault == wire.OK {
			return fmt.Sprintf("%v > %v: %s", netip.AddrPortFrom(src, s.SrcPort()), netip.AddrPortFrom(dst, s.DstPort()), segment(s))
		}
	case wire.UDPProtocol:
		if d, fault := wire.ParseUDP(b); fault == wire.OK {
			return fmt.Sprintf("%v > %v: UDP, %d bytes", netip.AddrPortFrom(src, d.SrcPort()), netip.AddrPortFrom(dst, d.DstPort()), len(d.Payload()))
		}
	case wire.ICMPv4Protocol, wire.ICMPv6Protocol:
		if len(b) >= wire.ICMPHeader {
			return fmt.Sprintf("%v > %v: ICMP type %d code %d", src, dst, b[0], b[1])
		}
	}
	return fmt.Sprintf("%v > %v: protocol %d, %d bytes", src, dst, protocol, len(b))
}

// segment describes a TCP segment.
func segment(s wire.TCP) string {
	return fmt.Sprintf("%s seq %d ack %d win %d, %d bytes", s.Flags(), s.Seq(), s.Ack(), s.Window(), len(s.Payload()))
}
