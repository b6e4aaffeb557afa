package tcpip

import (
	"net/netip"
	"slices"

	"weir/wire"
)

// The groups that every node belongs to (RFC 4291, section 2.7.1).
var (
	allNodes          = netip.MustParseAddr("ff02::1")
	allRouters        = netip.MustParseAddr("ff02::2")
	allNodesInterface = netip.MustParseAddr("ff01::1")
)

// solicitedNode returns the solicited-node group of an address (RFC 4291, section 2.7.1).
func solicitedNode(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom16([16]byte{0xff, 2, 11: 1, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]})
}

// acceptsDst6 reports whether an IPv6 packet for dst that arrived here is for the stack, and
// whether dst is a group. The groups of addresses that are still being probed are among them.
func (i *iface) acceptsDst6(dst netip.Addr) (accepts, group bool) {
	if !dst.IsMulticast() {
		return i.hasAddr(dst) || i.loopback && i.s.owns(dst), false
	}
	if dst = dst.WithZone(""); dst == allNodes || dst == allNodesInterface || dst == allRouters && i.s.forwarding.Load() != nil || i.loopback || i.hasGroup(dst) {
		return true, true
	}
	return slices.ContainsFunc(i.configured(), func(p netip.Prefix) bool { return p.Addr().Is6() && solicitedNode(p.Addr()) == dst }), true
}

// martianSource6 reports whether no packet that arrives here can have the IPv6 source src: a group
// (RFC 4291, section 2.7), loopback (section 2.5.3) or an address of the stack. The unspecified
// address is for neighbour discovery only, which checks it.
func (i *iface) martianSource6(src netip.Addr) bool {
	return src.IsMulticast() || src.Is4In6() || !i.loopback && (src.IsLoopback() || i.s.owns(src))
}

// claimsOwnAddr reports whether a packet is a neighbour advertisement from an address of this
// interface: another host has the address too. A tentative one is then a duplicate (RFC 4862,
// section 5.4.4).
func (i *iface) claimsOwnAddr(v wire.IPv6) bool {
	message := v.Payload()
	return i.hasAddr(i.zoned(v.Src())) && v.NextHeader() == wire.ICMPv6Protocol && len(message) > 0 && wire.ICMPv6Type(message[0]) == wire.NeighbourAdvert
}

// groupMAC returns the hardware address of a broadcast address or a group on this link; ok is false
// for another host's address. RFC 1112, section 6.4, and RFC 2464, section 7, map groups.
func (i *iface) groupMAC(a netip.Addr) (mac wire.MAC, ok bool) {
	if a.Is6() {
		b := a.As16()
		return wire.MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}, a.IsMulticast()
	}
	if b := a.As4(); a.IsMulticast() {
		return wire.MAC{1, 0, 0x5e, b[1] & 0x7f, b[2], b[3]}, true
	}
	_, broadcast := i.acceptsDst(addrToUint32(a))
	return wire.Broadcast, broadcast
}
