package tcpip

import (
	"encoding/binary"
	"net/netip"
)

// addresses are the addresses of an interface that the stack uses now. A value never changes: it is
// replaced as a whole.
type addresses struct {
	prefixes []netip.Prefix // in the order of Config.Addrs
	// the same addresses as integers, which every received packet is compared with
	numeric []ownAddr
}

// ownAddr is an address of the stack and the directed broadcast address of its network. A network
// without one (a /31 or /32, RFC 3021) has the limited broadcast address there.
type ownAddr struct{ addr, broadcast uint32 }

// the limited broadcast address 255.255.255.255; also a mask of all bits
const allOnes = 1<<32 - 1

func addrToUint32(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func newAddresses(all []netip.Prefix) *addresses {
	a := &addresses{prefixes: all}
	for _, p := range all {
		w := ownAddr{addrToUint32(p.Addr()), allOnes}
		if p.Bits() < 31 {
			w.broadcast = w.addr | allOnes>>p.Bits()
		}
		a.numeric = append(a.numeric, w)
	}
	return a
}

// hasAddr reports whether a is an address of the stack on this interface.
func (i *iface) hasAddr(a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	w := addrToUint32(a)
	for _, own := range i.ownAddrs.Load().numeric {
		if own.addr == w {
			return true
		}
	}
	return false
}

// acceptsDst reports whether a packet for dst that arrived here is for the stack, and whether dst
// is a broadcast address (RFC 1122, section 3.2.1.3). An address belongs to its interface: a packet
// for it that arrives by another interface is dropped (the strong end system model, section
// 3.3.4.2).
func (i *iface) acceptsDst(dst uint32) (accepts, broadcast bool) {
	if dst == allOnes {
		return true, true
	}
	for _, own := range i.ownAddrs.Load().numeric {
		switch dst {
		case own.addr:
			return true, false
		case own.broadcast:
			return true, true
		}
	}
	return i.loopback && i.s.owns(netip.AddrFrom4([4]byte{byte(dst >> 24), byte(dst >> 16), byte(dst >> 8), byte(dst)})), false
}

// martianSource reports whether no packet that arrives here can have the source src: it is zero,
// broadcast, multicast, loopback or an address of the stack. Such a martian packet must be silently
// discarded (RFC 1122, section 3.2.1.3).
func (i *iface) martianSource(src uint32) bool {
	switch first := src >> 24; {
	case first == 0 || first >= 224:
		return true
	case i.loopback:
		return false
	case first == 127:
		return true
	}
	for _, own := range i.ownAddrs.Load().numeric {
		if src == own.addr || src == own.broadcast {
			return true
		}
	}
	return false
}

// martianOnLink reports whether no host on the link can have the address a: it is zero, broadcast,
// multicast, loopback, or the address of a network.
func (i *iface) martianOnLink(a netip.Addr) bool {
	w := addrToUint32(a)
	if first := w >> 24; first == 0 || first >= 224 || first == 127 {
		return true
	}
	for _, p := range i.addrs {
		if rest := uint32(allOnes) >> p.Bits(); p.Bits() < 31 && p.Contains(a) && (w&rest == 0 || w&rest == rest) {
			return true
		}
	}
	return false
}

// onLink reports whether a is the address of a neighbour: it is reached without a router.
func (i *iface) onLink(a netip.Addr) bool {
	_, r, ok := i.s.routes.Next(a)
	return ok && !r.Via.IsValid() && i.s.ifaces[r.Link] == i
}

// isBroadcast reports whether a is a broadcast address on this link.
func (i *iface) isBroadcast(a netip.Addr) bool {
	_, broadcast := i.acceptsDst(addrToUint32(a))
	return broadcast
}

// sourceFor returns the source address for packets to a neighbour: the first address in the same
// network, or else the first of all. It is invalid if the stack has lost all addresses to
// conflicts.
func (i *iface) sourceFor(hop netip.Addr) netip.Addr {
	all := i.ownAddrs.Load().prefixes
	for _, own := range all {
		if own.Contains(hop) {
			return own.Addr()
		}
	}
	if len(all) == 0 {
		return netip.Addr{}
	}
	return all[0].Addr()
}
