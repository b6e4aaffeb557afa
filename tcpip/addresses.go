package tcpip

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// addresses are the addresses of an interface that the stack uses now. A value never changes: it is
// replaced as a whole.
type addresses struct {
	prefixes []netip.Prefix // in the order of Config.Addrs
	// the IPv4 addresses as integers, which every received packet is compared with
	v4 []ownAddr
	v6 []netip.Addr // the IPv6 addresses, with zones
	// those of v6 that new connections should not have (RFC 4862, section 5.5.4)
	deprecated []netip.Addr
	temporary  []netip.Addr // those of v6 that are temporary (RFC 8981)
}

// ownAddr is an IPv4 address of the stack and the directed broadcast address of its network. A
// network without one (a /31 or /32, RFC 3021) has the limited broadcast address there.
type ownAddr struct{ addr, broadcast uint32 }

// the limited broadcast address 255.255.255.255; also a mask of all bits
const allOnes = 1<<32 - 1

func addrToUint32(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// newAddresses makes the addresses of an interface with that name. None is deprecated or temporary.
func newAddresses(all []netip.Prefix, zone string) *addresses {
	a := &addresses{prefixes: all}
	for _, p := range all {
		if p.Addr().Is6() {
			a.v6 = append(a.v6, withZone(p.Addr(), zone))
			continue
		}
		w := ownAddr{addrToUint32(p.Addr()), allOnes}
		if p.Bits() < 31 {
			w.broadcast = w.addr | allOnes>>p.Bits()
		}
		a.v4 = append(a.v4, w)
	}
	return a
}

// hasAddr reports whether a is an address of the stack on this interface.
func (i *iface) hasAddr(a netip.Addr) bool {
	own := i.ownAddrs.Load()
	if !a.Is4() {
		return slices.Contains(own.v6, a)
	}
	w := addrToUint32(a)
	for _, own := range own.v4 {
		if own.addr == w {
			return true
		}
	}
	return false
}

// allHosts is the group 224.0.0.1 that every host belongs to (RFC 1112, section 4).
const allHosts = 0xe0000001

// acceptsDst reports whether an IPv4 packet for dst that arrived here is for the stack, and whether
// dst is a broadcast address or a group (RFC 1122, section 3.2.1.3). An address belongs to its
// interface: a packet for it that arrives by another interface is dropped (the strong end system
// model, section 3.3.4.2).
func (i *iface) acceptsDst(dst uint32) (accepts, broadcast bool) {
	if dst == allOnes {
		return true, true
	}
	for _, own := range i.ownAddrs.Load().v4 {
		switch dst {
		case own.addr:
			return true, false
		case own.broadcast:
			return true, true
		}
	}
	a := netip.AddrFrom4([4]byte{byte(dst >> 24), byte(dst >> 16), byte(dst >> 8), byte(dst)})
	if dst>>28 == 0xe {
		return i.loopback || dst == allHosts || i.hasGroup(a), true
	}
	return i.loopback && i.s.owns(a), false
}

// martianSource reports whether no packet that arrives here can have the IPv4 source src: it is
// zero, broadcast, multicast, loopback or an address of the stack. Such a martian packet must be
// silently discarded (RFC 1122, section 3.2.1.3).
func (i *iface) martianSource(src uint32) bool {
	switch first := src >> 24; {
	case first == 0 || first >= 224:
		return true
	case i.loopback:
		return false
	case first == 127:
		return true
	}
	for _, j := range i.s.ifaces {
		for _, own := range j.ownAddrs.Load().v4 {
			if src == own.addr || src == own.broadcast && i == j {
				return true
			}
		}
	}
	return false
}

// martianOnLink reports whether no host on the link can have the IPv4 address a: it is zero,
// broadcast, multicast, loopback, or the address of a network.
func (i *iface) martianOnLink(a netip.Addr) bool {
	w := addrToUint32(a)
	if first := w >> 24; first == 0 || first >= 224 || first == 127 {
		return true
	}
	for _, p := range i.configured() {
		if rest := uint32(allOnes) >> p.Bits(); p.Addr().Is4() && p.Bits() < 31 && p.Contains(a) && (w&rest == 0 || w&rest == rest) {
			return true
		}
	}
	return false
}

// onLink reports whether a is the address of a neighbour: it is reached without a router.
func (i *iface) onLink(a netip.Addr) bool {
	if isLinkScoped(a) {
		return true
	}
	_, r, ok := i.s.routes.Load().NextBy(a, i.index)
	return ok && !r.Via.IsValid()
}

// sourceOn returns the source address for packets to dst by the next hop. The choice depends on the
// next hop for IPv4, and on the destination for IPv6.
func (i *iface) sourceOn(hop, dst netip.Addr) netip.Addr {
	if dst.Is6() {
		return i.sourceFor(dst)
	}
	return i.sourceFor(hop)
}

// sourceFor returns the source address for packets to a neighbour: the first address in the same
// network, or else the first of its family. It is invalid if the stack has none, as when it has
// lost all to conflicts.
func (i *iface) sourceFor(hop netip.Addr) (src netip.Addr) {
	own := i.ownAddrs.Load()
	if hop.Is6() {
		return own.sourceFor6(hop)
	}
	for _, p := range own.prefixes {
		if p.Contains(hop) {
			return p.Addr()
		}
		if !src.IsValid() && p.Addr().Is4() {
			src = p.Addr()
		}
	}
	return src
}
