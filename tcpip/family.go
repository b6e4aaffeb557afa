package tcpip

import "net/netip"

// family is a set of address families, as the name of a network chooses it.
type family uint8

const (
	family4    family = 1
	family6    family = 2
	familyBoth        = family4 | family6
)

// familyOf returns the families of a network: "tcp" has both, "tcp4" and "tcp6" one. known is false
// if its kind, "tcp" or "udp", is another one.
func familyOf(kind, network string) (f family, known bool) {
	switch network {
	case kind:
		return familyBoth, true
	case kind + "4":
		return family4, true
	case kind + "6":
		return family6, true
	}
	return 0, false
}

// familyFor returns the family of an address.
func familyFor(a netip.Addr) family {
	if a.Is4() {
		return family4
	}
	return family6
}

// has reports whether an address is of one of the families.
func (f family) has(a netip.Addr) bool {
	if a.Is4() {
		return f&family4 != 0
	}
	return f&family6 != 0
}

// unspecified reports all addresses of the families: [::] also stands for both.
func (f family) unspecified() netip.Addr {
	if f == family4 {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// loopback returns the loopback address, that of IPv4 if the families have it.
func (f family) loopback() netip.Addr {
	if f&family4 != 0 {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}
