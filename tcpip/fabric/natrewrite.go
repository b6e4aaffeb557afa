package fabric

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"time"

	"weir/wire"
)

// portFields returns the offsets of the ports, or of the identifier twice, and of the checksum in a
// transport header; ok is false if the NAT cannot translate it.
func portFields(protocol wire.Protocol, transport []byte) (src, dst, sum int, ok bool) {
	switch {
	case protocol == wire.TCPProtocol && len(transport) >= wire.TCPHeader:
		return 0, 2, 16, true
	case protocol == wire.UDPProtocol && len(transport) >= wire.UDPHeader:
		return 0, 2, 6, true
	case protocol == wire.ICMPv4Protocol && len(transport) >= wire.ICMPHeader && isEcho(transport[0]):
		return 4, 4, 2, true
	}
	return 0, 0, 0, false
}

func isEcho(t byte) bool {
	return wire.ICMPType(t) == wire.EchoRequest || wire.ICMPType(t) == wire.EchoReply
}

// outward translates the source of a packet from inside, and reports whether it could.
func (t *translator) outward(at time.Time, b []byte) bool {
	transport, protocol := b[headerLen(b):], wire.Protocol(b[9])
	if isError(b) {
		return t.outwardError(at, b, transport)
	}
	srcAt, dstAt, _, ok := portFields(protocol, transport)
	if !ok {
		return false
	}
	v := wire.IPv4(b)
	m := t.mapFor(endpoint{protocol, netip.AddrPortFrom(v.Src(), binary.BigEndian.Uint16(transport[srcAt:]))}, at)
	if m == nil {
		return false
	}
	m.lastUsed = at
	if !m.published {
		m.peers[peerOf(protocol, v.Dst(), transport[dstAt:])] = struct{}{}
	}
	rewriteEnd(b, 12, t.outsideAddr, srcAt, m.port)
	return true
}

// peerOf is the remote end that may answer: echo requests have no port of the peer.
func peerOf(protocol wire.Protocol, addr netip.Addr, port []byte) netip.AddrPort {
	if protocol == wire.ICMPv4Protocol {
		return netip.AddrPortFrom(addr, 0)
	}
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port))
}

// inward translates the destination of a packet from outside, and reports whether it may pass.
func (t *translator) inward(at time.Time, b []byte, from netip.Addr) bool {
	transport, protocol := b[headerLen(b):], wire.Protocol(b[9])
	if isError(b) {
		return t.inwardError(at, b, transport)
	}
	srcAt, dstAt, _, ok := portFields(protocol, transport)
	if !ok {
		return false
	}
	m := t.live(t.byPort[outsidePort{protocol, binary.BigEndian.Uint16(transport[dstAt:])}], at)
	if m == nil {
		return false
	}
	if _, known := m.peers[peerOf(protocol, from, transport[srcAt:])]; !known && !m.published && !t.cfg.OpenFilter {
		return false
	}
	rewriteEnd(b, 16, m.inside.Addr(), dstAt, m.inside.Port())
	return true
}

// inwardError translates an ICMP error that quotes a packet which the NAT has translated, so that
// path MTU discovery works through it (RFC 5508, section 4). It reports whether there is a mapping.
func (t *translator) inwardError(at time.Time, b, icmp []byte) bool {
	quoted, transport, protocol, ok := quotedIn(icmp)
	if !ok || wire.IPv4(quoted).Src() != t.outsideAddr {
		return false
	}
	m := t.live(t.byPort[outsidePort{protocol, binary.BigEndian.Uint16(transport[quotedPort(protocol, 0):])}], at)
	if m == nil {
		return false
	}
	rewriteQuoted(icmp, quoted, 12, m.inside.Addr(), quotedPort(protocol, 0), m.inside.Port())
	rewriteAddr(b, 16, m.inside.Addr())
	return true
}

// outwardError translates an ICMP error of an inside host about a packet that it was sent. It
// reports whether there is a mapping.
func (t *translator) outwardError(at time.Time, b, icmp []byte) bool {
	quoted, transport, protocol, ok := quotedIn(icmp)
	if !ok {
		return false
	}
	port := quotedPort(protocol, 2)
	m := t.live(t.byInside[endpoint{protocol, netip.AddrPortFrom(wire.IPv4(quoted).Dst(), binary.BigEndian.Uint16(transport[port:]))}], at)
	if m == nil {
		return false
	}
	rewriteQuoted(icmp, quoted, 16, t.outsideAddr, port, m.port)
	rewriteAddr(b, 12, t.outsideAddr)
	return true
}

// restored returns a packet as it was before the NAT translated it, for the NAT's errors about it.
func (t *translator) restored(at time.Time, b []byte) []byte {
	src, dst, ok := addrsOf(b)
	if !ok || !src.Is4() {
		return b
	}
	protocol, begin := wire.Protocol(b[9]), headerLen(b)
	srcAt, dstAt, _, ok := portFields(protocol, b[begin:])
	if !ok {
		return b
	}
	b = bytes.Clone(b)
	if m := t.live(t.byPort[outsidePort{protocol, binary.BigEndian.Uint16(b[begin+srcAt:])}], at); m != nil && src == t.outsideAddr {
		rewriteEnd(b, 12, m.inside.Addr(), srcAt, m.inside.Port())
	}
	to := endpoint{protocol, netip.AddrPortFrom(dst, binary.BigEndian.Uint16(b[begin+dstAt:]))}
	if m := t.live(t.byInside[to], at); m != nil {
		rewriteEnd(b, 16, t.outsideAddr, dstAt, m.port)
	}
	return b
}

// quotedIn returns the packet that an ICMP error quotes, and its transport header, of which there
// are at least eight bytes.
func quotedIn(icmp []byte) (quoted, transport []byte, protocol wire.Protocol, ok bool) {
	if len(icmp) < wire.ICMPHeader+wire.IPv4Header+8 {
		return nil, nil, 0, false
	}
	quoted = icmp[wire.ICMPHeader:]
	begin := headerLen(quoted)
	if quoted[0]>>4 != 4 || begin < wire.IPv4Header || len(quoted) < begin+8 {
		return nil, nil, 0, false
	}
	return quoted, quoted[begin:], wire.Protocol(quoted[9]), true
}

// quotedPort returns the offset of a port in a quoted transport header, or of the identifier.
func quotedPort(protocol wire.Protocol, at int) int {
	if protocol == wire.ICMPv4Protocol {
		return 4
	}
	return at
}

// rewriteEnd changes an address of a packet and its port, with the checksums that cover them.
// Checksums are updated, not computed: a corrupted packet stays so.
func rewriteEnd(b []byte, addrAt int, addr netip.Addr, portAt int, port uint16) {
	begin, protocol := headerLen(b), wire.Protocol(b[9])
	_, _, sumAt, _ := portFields(protocol, b[begin:])
	sum := b[begin+sumAt : begin+sumAt+2]
	if protocol == wire.UDPProtocol && sum[0] == 0 && sum[1] == 0 {
		sum = nil // the datagram has none
	}
	a := addr.As4()
	for i := 0; i < 4; i += 2 {
		covered := sum
		if protocol == wire.ICMPv4Protocol {
			covered = nil // it covers no addresses
		}
		replaceWord(b[addrAt+i:], binary.BigEndian.Uint16(a[i:]), b[10:12], covered)
	}
	replaceWord(b[begin+portAt:], port, sum)
	if protocol == wire.UDPProtocol && sum != nil && sum[0] == 0 && sum[1] == 0 {
		sum[0], sum[1] = 0xff, 0xff // 0 would mean that there is none (RFC 768)
	}
}

// rewriteAddr changes an address of a packet whose transport does not cover it.
func rewriteAddr(b []byte, at int, addr netip.Addr) {
	a := addr.As4()
	replaceWord(b[at:], binary.BigEndian.Uint16(a[:]), b[10:12])
	replaceWord(b[at+2:], binary.BigEndian.Uint16(a[2:]), b[10:12])
}

// rewriteQuoted changes an address and a port of a quoted packet, with its header's checksum and
// that of the ICMP message.
func rewriteQuoted(icmp, quoted []byte, addrAt int, addr netip.Addr, portAt int, port uint16) {
	sum, begin := icmp[2:4], headerLen(quoted)
	a := addr.As4()
	before := binary.BigEndian.Uint16(quoted[10:])
	replaceWord(quoted[addrAt:], binary.BigEndian.Uint16(a[:]), quoted[10:12], sum)
	replaceWord(quoted[addrAt+2:], binary.BigEndian.Uint16(a[2:]), quoted[10:12], sum)
	updateChecksum(sum, before, binary.BigEndian.Uint16(quoted[10:]))
	replaceWord(quoted[begin+portAt:], port, sum)
}

// replaceWord writes a word and updates the checksums that cover it.
func replaceWord(at []byte, value uint16, sums ...[]byte) {
	before := binary.BigEndian.Uint16(at)
	binary.BigEndian.PutUint16(at, value)
	for _, sum := range sums {
		if sum != nil {
			updateChecksum(sum, before, value)
		}
	}
}
