package tcpip

import (
	"encoding/binary"
	"net/netip"
)

// addresses are those of an interface that are the stack's now. They are not changed, but exchanged
// for others.
type addresses struct {
	prefixes []netip.Prefix // in the order in which they were given
	words    []ownWords     // the same as numbers: every packet is held against them
}

// ownWords are an address, and everybody's in its network; without one (RFC 3021) it is that of all
// networks.
type ownWords struct{ own, everybody uint32 }

const allHosts = 1<<32 - 1 // 255.255.255.255

func word(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func newAddresses(all []netip.Prefix) *addresses {
	a := &addresses{prefixes: all}
	for _, p := range all {
		w := ownWords{word(p.Addr()), allHosts}
		if p.Bits() < 31 {
			w.everybody = w.own | allHosts>>p.Bits()
		}
		a.words = append(a.words, w)
	}
	return a
}

// has says whether an address is the stack's on this interface.
func (i *iface) has(a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	w := word(a)
	for _, own := range i.own.Load().words {
		if own.own == w {
			return true
		}
	}
	return false
}

// takes says whether a packet for an address is for the stack when it comes here, and whether it is
// for everybody on the link as well (RFC 1122, section 3.2.1.3). Addresses belong to their
// interface: what comes by another one is not taken (the strong model of section 3.3.4.2).
func (i *iface) takes(dst uint32) (takes, everybody bool) {
	if dst == allHosts {
		return true, true
	}
	for _, own := range i.own.Load().words {
		switch dst {
		case own.own:
			return true, false
		case own.everybody:
			return true, true
		}
	}
	return i.local && i.s.owns(netip.AddrFrom4([4]byte{byte(dst >> 24), byte(dst >> 16), byte(dst >> 8), byte(dst)})), false
}

// strange says whether no packet can be from an address when it comes here: it is nobody's,
// everybody's, a group's, the loopback's or the stack's own (RFC 1122, section 3.2.1.3: it must be
// dropped silently).
func (i *iface) strange(src uint32) bool {
	switch first := src >> 24; {
	case first == 0 || first >= 224:
		return true
	case i.local:
		return false
	case first == 127:
		return true
	}
	for _, own := range i.own.Load().words {
		if src == own.own || src == own.everybody {
			return true
		}
	}
	return false
}

// martian reports whether no host on the link can have an address: it is everybody's, a group's,
// the loopback's, or that of a network.
func (i *iface) martian(a netip.Addr) bool {
	w := word(a)
	if first := w >> 24; first == 0 || first >= 224 || first == 127 {
		return true
	}
	for _, p := range i.addrs {
		if rest := uint32(allHosts) >> p.Bits(); p.Bits() < 31 && p.Contains(a) && (w&rest == 0 || w&rest == rest) {
			return true
		}
	}
	return false
}

// onLink reports whether a host with an address is a neighbour.
func (i *iface) onLink(a netip.Addr) bool {
	_, r, ok := i.s.routes.Next(a)
	return ok && !r.Via.IsValid() && i.s.ifaces[r.Link] == i
}

// broadcast says whether an address is everybody's on this link.
func (i *iface) broadcast(a netip.Addr) bool {
	_, everybody := i.takes(word(a))
	return everybody
}

// source is the address to speak to a neighbour from: the first in the same network, or else the
// first. It is invalid when all are lost.
func (i *iface) source(hop netip.Addr) netip.Addr {
	all := i.own.Load().prefixes
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
