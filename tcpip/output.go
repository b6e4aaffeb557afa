package tcpip

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"time"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/wire"
)

// neighActions implements neigh.Actions. The lock of the interface, which guards its neighbour
// table, is held during each call.
type neighActions struct{ l *reader }

// SendRequest implements neigh.Actions.
func (a neighActions) SendRequest(target netip.Addr, at wire.MAC) {
	if src := a.l.iface.sourceFor(target); src.IsValid() {
		if target.Is6() {
			a.l.sendSolicitation(target, src, at)
			return
		}
		a.l.sendARP(wire.ARPRequest, at, src, wire.MAC{}, target)
	}
}

// SendQueued implements neigh.Actions.
func (a neighActions) SendQueued(n *neigh.Neighbour, frame []byte) {
	a.l.iface.setDst(frame, n.MAC)
	if !a.l.queue.Write(&link.Parts{Head: frame}) {
		a.l.s.drops.add(DropDevice)
	}
}

// outgoingPacket describes a packet to send. The family of dst is the packet's.
type outgoingPacket struct {
	src, dst     netip.Addr // src zero: the address of the route
	protocol     wire.Protocol
	tos          uint8  // TOS octet, or traffic class
	ttl          uint8  // TTL, or hop limit; 0: Config.TTL
	dontFragment bool   // do not fragment, neither here nor on the path
	options      []byte // IPv4 only
	flowLabel    uint32 // IPv6 only
	foreign      bool   // src need not be an address of the stack
	link         *iface // the only link to send by; nil: any
	loop         loopMode
	loopOf       *iface // the packet is a copy of one that left by this link; nil: it is none
}

// headerLen is the length of the packet's IP header.
func (f *outgoingPacket) headerLen() int { return ipHeaderLen(f.dst) + len(f.options) }

// sendIP sends a packet of any protocol but TCP, as fragments if necessary. A frame that the link
// or the neighbour table drops is counted, and is no error, as with Linux.
func (s *Stack) sendIP(f outgoingPacket, payload []byte) error {
	i, hop, src, ok := s.routeBy(f.link, f.dst, f.src)
	if !ok {
		s.drops.add(DropRoute)
		return syscall.ENETUNREACH
	}
	if !f.src.IsValid() {
		f.src = src
	}
	if f.ttl == 0 {
		f.ttl = s.defaultTTL(i, f.dst)
	}
	mtu, _ := s.pathMTU(f.dst, i)
	switch length := f.headerLen() + len(payload); {
	case length-ipHeaderLen(f.dst) > maxPayload(f.dst), f.dontFragment && length > mtu:
		return syscall.EMSGSIZE
	case f.src.Is4() != f.dst.Is4():
		return syscall.EINVAL
	case !f.foreign && !s.owns(f.src) && !f.asksForAddress():
		return syscall.EADDRNOTAVAIL // the stack lost it to another host (claims.go)
	}
	if f.loop != noLoop {
		if ops := s.groupOps.Load(); ops != nil {
			ops.loop(s, i, f, payload)
		}
	}
	if f.loop != loopOnly {
		i.readerFor(hashAddr(f.dst)).send(&f, payload, mtu, hop)
	}
	return nil
}

// send sends a packet to a neighbour, as fragments if necessary.
func (l *reader) send(f *outgoingPacket, payload []byte, mtu int, hop netip.Addr) {
	if f.dst.Is6() {
		l.sendIPv6(f, payload, mtu, hop)
	} else {
		l.sendIPv4(f, payload, mtu, hop)
	}
}

// defaultTTL returns the TTL, or hop limit, of packets that do not specify one: 1 for groups (RFC
// 1112, section 6.1; RFC 3493, section 5.2).
func (s *Stack) defaultTTL(i *iface, dst netip.Addr) uint8 {
	switch {
	case dst.IsMulticast():
		return 1
	case dst.Is6():
		return i.hopLimit6()
	}
	return s.cfg.TTL
}

// maxPayload returns the largest payload of a packet to dst, without options or extensions.
func maxPayload(dst netip.Addr) int {
	if dst.Is4() {
		return wire.IPv4Largest - wire.IPv4Header
	}
	return wire.IPv6Largest - wire.IPv6Header
}

// sendIPv4 sends a packet to a neighbour, as fragments if necessary.
func (l *reader) sendIPv4(f *outgoingPacket, payload []byte, mtu int, hop netip.Addr) {
	h := wire.IPv4Fields{TOS: f.tos, TTL: f.ttl, DontFragment: f.dontFragment, Protocol: f.protocol, Src: f.src, Dst: f.dst, Options: f.options}
	if !f.dontFragment {
		h.ID = l.s.packetID(f.src, f.dst)
	}
	ip.Fragment(h, payload, mtu, func(header, piece []byte) {
		if f.loopOf != nil {
			l.sendLoop(f, wire.TypeIPv4, header, piece)
			return
		}
		l.counts.sent[payloadKindOf(f.protocol)].Add(1)
		l.sendPacket(hop, f.dst, wire.TypeIPv4, header, piece)
	})
}

// hashAddr returns a number that depends on an address, for readerFor.
func hashAddr(a netip.Addr) uint32 {
	if a.Is4() {
		return addrToUint32(a)
	}
	b := a.As16()
	return binary.BigEndian.Uint32(b[:]) ^ binary.BigEndian.Uint32(b[4:]) ^ binary.BigEndian.Uint32(b[8:]) ^ binary.BigEndian.Uint32(b[12:])
}

// sendPacket sends a packet for dst to a neighbour. It reports whether the packet was sent, or
// waits for the neighbour's hardware address.
func (l *reader) sendPacket(hop, dst netip.Addr, t wire.EtherType, header, payload []byte) bool {
	i := l.iface
	out := outgoingPool.Get().(*outgoingFrame)
	defer outgoingPool.Put(out)
	p := &out.Parts
	*p = link.Parts{Body: [2][]byte{payload}, Head: append(i.appendFrameHeader(out.headers[:0], wire.Broadcast, t), header...)}
	mac, ok := i.groupMAC(hop)
	if !ok {
		if mac, ok = i.resolve(l, hop, hop != dst, p); !ok {
			return true
		}
	}
	i.setDst(p.Head, mac)
	if !l.queue.Write(p) {
		l.s.drops.add(DropDevice)
		return false
	}
	return true
}

// packetID returns the Identification of a packet that may be fragmented. Values repeat as late as
// possible between two hosts, and reveal nothing about packets to others (RFC 7739, section 5.3,
// and RFC 6274, section 3.5.2.1).
func (s *Stack) packetID(src, dst netip.Addr) uint16 {
	a, b := src.As16(), dst.As16()
	var name [32]byte
	copy(name[:], a[:])
	copy(name[16:], b[:])
	h := siphash(&s.secret, name[:])
	return uint16(h>>48) + uint16(s.packetIDs[h%uint64(len(s.packetIDs))].Add(1))
}

// packetID6 returns the Identification of a packet of IPv6 that is fragmented (RFC 7739, section
// 5.3).
func (s *Stack) packetID6(src, dst netip.Addr) uint32 {
	a, b := src.As16(), dst.As16()
	var name [32]byte
	copy(name[:], a[:])
	copy(name[16:], b[:])
	h := siphash(&s.secret, name[:])
	return uint32(h>>32) + s.packetIDs[h%uint64(len(s.packetIDs))].Add(1)
}

// sendICMPError sends an ICMP error about a packet, unless the RFCs or the rate limit forbid it. at
// is that of icmp.AppendError.
func (i *iface) sendICMPError(about []byte, broadcast bool, what icmp.Problem, at int) {
	if about[0]>>4 == 6 {
		i.sendICMPv6Error(wire.IPv6(about), broadcast, what, at)
		return
	}
	v := wire.IPv4(about)
	quote, ok := icmp.Quote(v, broadcast)
	if !ok || !i.s.owns(v.Dst()) || !i.s.mayReport(v.Src()) {
		return
	}
	i.s.sendIP(outgoingPacket{protocol: wire.ICMPv4Protocol, src: v.Dst(), dst: v.Src()}, icmp.AppendError(nil, what, at, quote)) //nolint:errcheck // it is counted
}

// sendICMPv6Error is sendICMPError for a packet of IPv6. The source of an error about a packet to a
// group is an address of the interface (RFC 4443, section 2.2).
func (i *iface) sendICMPv6Error(v wire.IPv6, group bool, what icmp.Problem, at int) {
	quote, ok := icmp.QuoteV6(v, group, what)
	src, dst := i.zoned(v.Dst()), i.zoned(v.Src())
	if group || src.IsMulticast() {
		src = i.sourceFor(dst)
	}
	if !ok || !i.s.owns(src) || !i.s.mayReport(dst) {
		return
	}
	i.s.sendIP(outgoingPacket{protocol: wire.ICMPv6Protocol, src: src, dst: dst}, icmp.AppendErrorV6(nil, src, dst, what, at, quote)) //nolint:errcheck // it is counted
}

// mayReport reports whether an ICMP error may be sent to an address now, and counts it.
func (s *Stack) mayReport(to netip.Addr) bool {
	b := to.As16()
	now := time.Duration(s.now())
	s.errorsMu.Lock()
	defer s.errorsMu.Unlock()
	return s.errorShares.Allow(siphash(&s.secret, b[:]), now) && s.errorLimiter.Allow(now)
}
