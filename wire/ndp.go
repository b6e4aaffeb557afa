package wire

import (
	"encoding/binary"
	"iter"
	"net/netip"
	"time"
)

// NDPHopLimit is the hop limit of all messages of neighbour discovery: a router would have lowered
// it, so they come from the link (RFC 4861, section 7.1).
const NDPHopLimit = 255

// NDPOptionKind is the type of an option of neighbour discovery.
type NDPOptionKind uint8

// The kinds of options (RFC 4861, section 4.6; RFC 3971; RFC 4191; RFC 8106).
const (
	SourceLinkAddr NDPOptionKind = 1
	TargetLinkAddr NDPOptionKind = 2
	PrefixInfo     NDPOptionKind = 3
	RedirectedPart NDPOptionKind = 4
	LinkMTU        NDPOptionKind = 5
	Nonce          NDPOptionKind = 14
	RouteInfo      NDPOptionKind = 24
	DNSServers     NDPOptionKind = 25
	DNSSearchList  NDPOptionKind = 31
)

// NDPOption is an option: kind, length in 8 bytes, value.
type NDPOption []byte

// Kind is the kind of the option.
func (o NDPOption) Kind() NDPOptionKind { return NDPOptionKind(o[0]) }

// LinkAddr is the hardware address of a SourceLinkAddr or TargetLinkAddr option of Ethernet; ok is
// false if the option is of another length.
func (o NDPOption) LinkAddr() (mac MAC, ok bool) {
	if len(o) != 8 {
		return mac, false
	}
	return MAC(o[2:8]), true
}

// MTU is the MTU of a LinkMTU option; 0 if the option is of another length.
func (o NDPOption) MTU() int {
	if len(o) != 8 {
		return 0
	}
	return int(min(binary.BigEndian.Uint32(o[4:]), 1<<30))
}

// NDPOptions are the options of a message.
type NDPOptions []byte

// Valid reports whether each option has a length other than zero and lies within the message. A
// message with others must be discarded (RFC 4861, section 4.6).
func (o NDPOptions) Valid() bool {
	for len(o) > 0 {
		if len(o) < 8 || o[1] == 0 || int(o[1])*8 > len(o) {
			return false
		}
		o = o[int(o[1])*8:]
	}
	return true
}

// All yields the options, which must be valid.
func (o NDPOptions) All() iter.Seq[NDPOption] {
	return func(yield func(NDPOption) bool) {
		for rest := o; len(rest) > 0; rest = rest[int(rest[1])*8:] {
			if !yield(NDPOption(rest[:int(rest[1])*8])) {
				return
			}
		}
	}
}

// LinkAddr returns the hardware address in the first option of a kind.
func (o NDPOptions) LinkAddr(kind NDPOptionKind) (mac MAC, ok bool) {
	for option := range o.All() {
		if option.Kind() == kind {
			return option.LinkAddr()
		}
	}
	return mac, false
}

// AppendLinkAddr appends a SourceLinkAddr or TargetLinkAddr option of Ethernet.
func AppendLinkAddr(b []byte, kind NDPOptionKind, mac MAC) []byte {
	return append(append(b, byte(kind), 1), mac[:]...)
}

// AppendNonce appends a Nonce option (RFC 3971, section 5.3.2).
func AppendNonce(b []byte, nonce [6]byte) []byte {
	return append(append(b, byte(Nonce), 1), nonce[:]...)
}

// Neighbour is a neighbour solicitation or advertisement (RFC 4861, sections 4.3 and 4.4).
type Neighbour struct {
	Target  netip.Addr
	Options NDPOptions

	// Of an advertisement.
	Router    bool // the sender is a router
	Solicited bool // it answers a solicitation
	Override  bool // its hardware address replaces a known one
}

// ParseNeighbour reads a neighbour solicitation or advertisement. The caller has verified hop limit
// and checksum. The target is no group.
func ParseNeighbour(m ICMPv6) (n Neighbour, fault Fault) {
	if len(m) < ICMPHeader+16 {
		return n, Short
	}
	n.Target, n.Options = netip.AddrFrom16([16]byte(m[8:24])), NDPOptions(m[24:])
	if m.Code() != 0 || n.Target.IsMulticast() {
		return n, WrongField
	}
	if !n.Options.Valid() {
		return n, WrongOption
	}
	if m.Type() == NeighbourAdvert {
		n.Router, n.Solicited, n.Override = m[4]&0x80 != 0, m[4]&0x40 != 0, m[4]&0x20 != 0
	}
	return n, OK
}

// AppendNeighbour appends the message, of type NeighbourSolicit or NeighbourAdvert.
func AppendNeighbour(b []byte, src, dst netip.Addr, t ICMPv6Type, n *Neighbour) []byte {
	var flags uint32
	for i, set := range [...]bool{n.Router, n.Solicited, n.Override} {
		if set && t == NeighbourAdvert {
			flags |= 1 << (31 - i)
		}
	}
	target := n.Target.As16()
	return AppendICMPv6(b, src, dst, t, 0, flags, append(target[:], n.Options...))
}

// RouterPreference is the preference of a router or a route (RFC 4191, section 2.1).
type RouterPreference int8

// The preferences.
const (
	LowPreference    RouterPreference = -1
	MediumPreference RouterPreference = 0
	HighPreference   RouterPreference = 1
)

// preference reads the two bits of a preference; the reserved value counts as medium.
func preference(flags byte) RouterPreference {
	switch flags >> 3 & 3 {
	case 1:
		return HighPreference
	case 3:
		return LowPreference
	}
	return MediumPreference
}

// Advert is a router advertisement (RFC 4861, section 4.2).
type Advert struct {
	HopLimit   uint8 // for packets; 0: unspecified
	Managed    bool  // addresses are to be had by DHCPv6
	Other      bool  // other configuration is to be had by DHCPv6
	Preference RouterPreference
	Lifetime   time.Duration // as a default router; 0: it is none
	Reachable  time.Duration // how long a neighbour is Reachable; 0: unspecified
	Retransmit time.Duration // between solicitations; 0: unspecified
	Options    NDPOptions
}

// advertLen is the length of an advertisement before its options.
const advertLen = ICMPHeader + 8

// ParseAdvert reads a router advertisement. The caller has verified hop limit, checksum, and that
// the source is link-local.
func ParseAdvert(m ICMPv6) (a Advert, fault Fault) {
	if len(m) < advertLen {
		return a, Short
	}
	a = Advert{HopLimit: m[4], Managed: m[5]&0x80 != 0, Other: m[5]&0x40 != 0, Preference: preference(m[5]),
		Lifetime:  time.Duration(binary.BigEndian.Uint16(m[6:])) * time.Second,
		Reachable: time.Duration(binary.BigEndian.Uint32(m[8:])) * time.Millisecond, Retransmit: time.Duration(binary.BigEndian.Uint32(m[12:])) * time.Millisecond,
		Options: NDPOptions(m[advertLen:])}
	if m.Code() != 0 {
		return a, WrongField
	}
	if !a.Options.Valid() {
		return a, WrongOption
	}
	return a, OK
}

// AppendAdvert appends a router advertisement.
func AppendAdvert(b []byte, src, dst netip.Addr, a *Advert) []byte {
	flags := byte(a.Preference&3) << 3
	if a.Managed {
		flags |= 0x80
	}
	if a.Other {
		flags |= 0x40
	}
	rest := uint32(a.HopLimit)<<24 | uint32(flags)<<16 | uint32(a.Lifetime/time.Second)&0xffff
	body := binary.BigEndian.AppendUint32(nil, uint32(a.Reachable/time.Millisecond))
	body = binary.BigEndian.AppendUint32(body, uint32(a.Retransmit/time.Millisecond))
	return AppendICMPv6(b, src, dst, RouterAdvert, 0, rest, append(body, a.Options...))
}
