package fabric

import (
	"encoding/binary"
	"net/netip"
	"time"

	"weir/tcpip/ip"
	"weir/wire"
)

// problem is an ICMP error, in both versions.
type problem struct {
	type4 wire.ICMPType
	code4 uint8
	type6 wire.ICMPv6Type
	code6 uint8
	mtu   int // of a Packet Too Big
}

var (
	unreachable = problem{type4: wire.Unreachable, code4: wire.NetUnreachable, type6: wire.Unreachable6, code6: wire.NoRoute6}
	expired     = problem{type4: wire.TimeExceeded, code4: wire.TransitExceeded, type6: wire.TimeExceeded6, code6: 0}
)

// maxError is how long an error with its IP header may be (RFC 1812, section 4.3.2.3, and RFC 4443,
// section 2.4).
const maxError4, maxError6 = 576, 1280

// sendError answers a packet with an ICMP error, unless it must not be answered (RFC 1122, section
// 3.2.2, and RFC 4443, section 2.4).
func (n *Network) sendError(at time.Time, node *Node, p *packet, e problem) {
	quoted := p.bytes
	if node.nat != nil {
		quoted = node.nat.restored(at, quoted)
	}
	src, dst, ok := addrsOf(quoted)
	if !ok || dst.IsMulticast() || isGroup(dst, node.realm) || isError(quoted) || isLaterFragment(quoted) {
		return
	}
	from := node.errorAddr(src)
	if !from.IsValid() {
		return
	}
	answer := &packet{from: node, bytes: errorTo(src, from, quoted, e)}
	if node.kind == hostNode {
		n.packets++
		answer.number = n.packets
		n.schedule(at, node, answer)
		return
	}
	n.begin(writtenPacket{at: at, packet: answer})
}

// errorAddr returns the source of a node's errors to an address. Hosts and switches send none
// themselves: the network does, with the last address of its realm.
func (n *Node) errorAddr(to netip.Addr) netip.Addr {
	if n.kind == routerNode || n.kind == natNode {
		r := n.realmTowards(to)
		for _, p := range n.addrs {
			if p.Addr().Is4() == to.Is4() && r == n.realm {
				return p.Addr()
			}
		}
		if r == n.inside && to.Is4() {
			return n.nat.insideAddr
		}
	}
	if to.Is4() {
		return lastAddr(n.realm.base4).Prev()
	}
	if n.realm.base6.IsValid() {
		b := n.realm.base6.Addr().As16()
		binary.BigEndian.PutUint64(b[8:], 1<<64-1)
		return netip.AddrFrom16(b)
	}
	return netip.Addr{}
}

// errorTo returns an ICMP error that quotes a packet.
func errorTo(to, from netip.Addr, quoted []byte, e problem) []byte {
	if to.Is4() {
		quoted = quoted[:min(len(quoted), maxError4-wire.IPv4Header-wire.ICMPHeader)]
		b := wire.AppendIPv4(nil, &wire.IPv4Fields{TTL: 64, Protocol: wire.ICMPv4Protocol, Src: from, Dst: to, Payload: wire.ICMPHeader + len(quoted)})
		return wire.AppendICMP(b, e.type4, e.code4, uint32(e.mtu), quoted)
	}
	quoted = quoted[:min(len(quoted), maxError6-wire.IPv6Header-wire.ICMPHeader)]
	b := wire.AppendIPv6(nil, &wire.IPv6Fields{HopLimit: 64, NextHeader: wire.ICMPv6Protocol, Src: from, Dst: to, Payload: wire.ICMPHeader + len(quoted)})
	return wire.AppendICMPv6(b, from, to, e.type6, e.code6, uint32(e.mtu), quoted)
}

// isError reports whether a packet is an ICMP error.
func isError(b []byte) bool {
	begin := headerLen(b)
	if begin >= len(b) {
		return false
	}
	if b[0]>>4 == 6 {
		return wire.Protocol(b[6]) == wire.ICMPv6Protocol && b[begin] < 128
	}
	t := wire.ICMPType(b[begin])
	return wire.Protocol(b[9]) == wire.ICMPv4Protocol && (t == wire.Unreachable || t == wire.TimeExceeded || t == wire.ParameterProblem)
}

func isLaterFragment(b []byte) bool { return b[0]>>4 == 4 && wire.IPv4(b).FragmentOffset() > 0 }

// decrement decrements the TTL of a packet that a router forwards, and reports whether it has not
// run out.
// The checksum is updated, not computed: a corrupted header stays so (RFC 1624).
func (n *Node) decrement(at time.Time, p *packet) (ok bool) {
	field := 8
	if p.bytes[0]>>4 == 6 {
		field = 7
	}
	if len(p.bytes) < wire.IPv4Header {
		n.net.drop(at, n, p, DropMalformed)
		return false
	}
	if p.bytes[field] <= 1 {
		n.net.drop(at, n, p, DropExpired)
		n.net.sendError(at, n, p, expired)
		return false
	}
	if field == 8 {
		before := binary.BigEndian.Uint16(p.bytes[8:])
		p.bytes[8]--
		updateChecksum(p.bytes[10:], before, binary.BigEndian.Uint16(p.bytes[8:]))
		return true
	}
	p.bytes[7]--
	return true
}

// updateChecksum updates a checksum for a word that has changed (RFC 1624, equation 3).
func updateChecksum(field []byte, before, after uint16) {
	sum := uint32(^binary.BigEndian.Uint16(field)) + uint32(^before) + uint32(after)
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	binary.BigEndian.PutUint16(field, ^uint16(sum))
}

// tooBig handles a packet that is larger than the line's MTU.
func (l *line) tooBig(n *Network, at time.Time, p *packet) {
	if !l.path.BlackHole && p.bytes[0]>>4 == 4 && !wire.IPv4(p.bytes).DontFragment() {
		l.fragment(n, at, p)
		return
	}
	n.drop(at, l.from, p, DropTooBig)
	if !l.path.BlackHole {
		n.sendError(at, l.from, p, problem{type4: wire.Unreachable, code4: wire.FragmentationNeeded, type6: wire.PacketTooBig6, mtu: l.path.MTU})
	}
}

// fragment sends a packet in fragments that fit the line (RFC 791, section 3.2).
func (l *line) fragment(n *Network, at time.Time, p *packet) {
	v, fault := wire.ParseIPv4(p.bytes)
	if fault != wire.OK {
		n.drop(at, l.from, p, DropMalformed)
		return
	}
	f := wire.IPv4Fields{TOS: v.TOS(), ID: v.ID(), MoreFragments: v.MoreFragments(), FragmentOffset: v.FragmentOffset(), TTL: v.TTL(), Protocol: v.Protocol(), Src: v.Src(), Dst: v.Dst(), Options: v.Options()}
	ip.Fragment(f, v.Payload(), l.path.MTU, func(header, payload []byte) {
		q := *p
		q.bytes = append(append([]byte(nil), header...), payload...)
		l.send(n, at, &q)
	})
}

// answersEcho answers an echo request to a router, and reports whether the packet was for it.
func (n *Node) answersEcho(at time.Time, p *packet) bool {
	_, dst, ok := addrsOf(p.bytes)
	if !ok || n.realm.owners[dst] != n {
		return false
	}
	reply := echoReply(p.bytes)
	if reply == nil {
		n.net.drop(at, n, p, DropNoRoute) // a router offers nothing else
		return true
	}
	n.reply(at, p, reply)
	return true
}

// reply sends the reply of a router or NAT to a packet.
func (n *Node) reply(at time.Time, p *packet, reply []byte) {
	n.net.observe(Event{At: at, Kind: EventDelivered, Node: n, Packet: p.bytes, Number: p.number})
	n.net.begin(writtenPacket{at: at, packet: &packet{from: n, bytes: reply}})
}

// echoReply returns the reply to an echo request; nil: it is none, or its checksum is wrong.
func echoReply(b []byte) []byte {
	src, dst, _ := addrsOf(b)
	if b[0]>>4 == 6 {
		m, fault := wire.ParseICMPv6(wire.IPv6(b).Payload())
		if fault != wire.OK || wire.IPv6(b).NextHeader() != wire.ICMPv6Protocol || m.Type() != wire.EchoRequest6 || !m.ChecksumOK(src, dst) {
			return nil
		}
		reply := wire.AppendIPv6(nil, &wire.IPv6Fields{HopLimit: 64, NextHeader: wire.ICMPv6Protocol, Src: dst, Dst: src, Payload: len(m)})
		return wire.AppendICMPv6(reply, dst, src, wire.EchoReply6, 0, m.RestOfHeader(), m.Body())
	}
	v := wire.IPv4(b)
	m, fault := wire.ParseICMP(v.Payload())
	if fault != wire.OK || v.Protocol() != wire.ICMPv4Protocol || v.IsFragment() || m.Type() != wire.EchoRequest || !m.ChecksumOK() {
		return nil
	}
	reply := wire.AppendIPv4(nil, &wire.IPv4Fields{TTL: 64, Protocol: wire.ICMPv4Protocol, Src: dst, Dst: src, Payload: len(m)})
	return wire.AppendICMP(reply, wire.EchoReply, 0, m.RestOfHeader(), m.Body())
}
