package tcpip

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"weir/wire"
)

// benchFamily is what the bench and its frames differ in by the version of IP.
type benchFamily struct {
	name       string
	file       string // the recorded conversation
	etherType  wire.EtherType
	host, peer netip.Addr // the stack, and the other end of its link
	bits       int        // length of their network
	mend       func(b *bench, o op, packet []byte)
	parse      func(packet []byte) (sentPacket, bool)
}

var benchFamilies = []*benchFamily{
	{"IPv4", "testdata/conversation.txt", wire.TypeIPv4, netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), 24, (*bench).mendIPv4, parseSent4},
	{"IPv6", "testdata/conversation6.txt", wire.TypeIPv6, netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2"), 64, (*bench).mendIPv6, parseSent6},
}

// benchFamilyOf returns the version of IP of the first packet: IPv4 if there is none.
func benchFamilyOf(all []record) *benchFamily {
	for _, r := range all {
		for _, of := range benchFamilies {
			if e, fault := wire.ParseEthernet(r.frame); fault == wire.OK && e.Type() == of.etherType {
				return of
			}
		}
	}
	return benchFamilies[0]
}

// mendIPv4 repairs a packet of IPv4.
func (b *bench) mendIPv4(o op, p []byte) {
	if len(p) < wire.IPv4Header {
		return
	}
	header := max(int(p[0]&15)*4, wire.IPv4Header)
	if header > len(p) {
		return
	}
	p[0] = 0x40 | byte(header/4)
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	copy(p[12:], b.of.peer.AsSlice())
	copy(p[16:], b.of.host.AsSlice())
	if o&mendTransport != 0 && binary.BigEndian.Uint16(p[6:])&0x3fff == 0 { // a whole packet
		b.mendTransport(o, wire.Protocol(p[9]), p[header:])
	}
	seal(p[:header], 10, wire.Sum{})
}

// mendIPv6 repairs a packet of IPv6.
func (b *bench) mendIPv6(o op, p []byte) {
	if len(p) < wire.IPv6Header {
		return
	}
	p[0] = 0x60 | p[0]&15
	binary.BigEndian.PutUint16(p[4:], uint16(len(p)-wire.IPv6Header))
	copy(p[8:], b.of.peer.AsSlice())
	copy(p[24:], b.of.host.AsSlice())
	if protocol, rest, ok := wire.UpperLayer(wire.Protocol(p[6]), p[wire.IPv6Header:]); ok && o&mendTransport != 0 {
		b.mendTransport(o, protocol, rest)
	}
}

// mendQuote6 makes an ICMPv6 error quote a segment in flight.
func (b *bench) mendQuote6(fl *peerView, p []byte) {
	q := p[wire.ICMPHeader:]
	if p[0] >= byte(wire.EchoRequest6) || len(q) < wire.IPv6Header+8 || q[0]>>4 != 6 {
		return
	}
	copy(q[8:], b.of.host.AsSlice())
	copy(q[24:], b.of.peer.AsSlice())
	if q[6] == byte(wire.TCPProtocol) {
		quoteInFlight(fl, q[wire.IPv6Header:])
	}
}

// sentPacket is a packet that the stack has sent.
type sentPacket struct {
	src, dst netip.Addr
	protocol wire.Protocol
	payload  []byte
	fragment bool
}

// icmpOK reports whether the checksum of an ICMP message is right.
func (p *sentPacket) icmpOK() bool {
	if p.protocol == wire.ICMPv4Protocol {
		return wire.ICMP(p.payload).ChecksumOK()
	}
	return wire.ICMPv6(p.payload).ChecksumOK(p.src, p.dst)
}

func parseSent4(b []byte) (sentPacket, bool) {
	p, fault := wire.ParseIPv4(b)
	if fault != wire.OK || !p.ChecksumOK() {
		return sentPacket{}, false
	}
	return sentPacket{p.Src(), p.Dst(), p.Protocol(), p.Payload(), p.IsFragment()}, true
}

func parseSent6(b []byte) (sentPacket, bool) {
	p, fault := wire.ParseIPv6(b)
	if fault != wire.OK {
		return sentPacket{}, false
	}
	x, fault := wire.ParseExtensions(p)
	return sentPacket{p.Src(), p.Dst(), x.Protocol, x.Payload, x.Fragment != nil}, fault == wire.OK
}

// isOwn reports whether the stack may send from an address: one of its own or, of IPv6, the
// unspecified one.
func (b *bench) isOwn(a netip.Addr) bool {
	own := b.s.ifaces[0].ownAddrs.Load()
	return a == b.of.host || a == netip.IPv6Unspecified() || slices.ContainsFunc(own.v6, func(o netip.Addr) bool { return o.WithZone("") == a })
}
