package nat

import (
	"net/netip"
	"slices"
)

// embedding are networks of IPv6 with an IPv4 address within: NAT64 (RFC 6052), 6to4 (RFC 3056),
// the server of Teredo (RFC 4380), and where it is.
var embedding = []struct {
	network netip.Prefix
	at      int // offset of the IPv4 address in bytes
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("2002::/16"), 2}, {netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, {netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("2001::/32"), 4},
}

// teredo has the client's address too, inverted (RFC 4380, section 4).
var teredo = netip.MustParsePrefix("2001::/32")

// localNAT64 is the network for translators of local use, whose prefixes have any length of RFC
// 6052 (RFC 8215).
var localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")

// localNAT64At are the offsets of the bytes of an IPv4 address after a prefix of 48, 56, 64 and 96
// bits: byte 8 is not part of it (RFC 6052, section 2.2).
var localNAT64At = [][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}, {12, 13, 14, 15}}

// isDenied reports whether an address must not be dialed.
func (c *Config) isDenied(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	contains := func(p netip.Prefix) bool { return p.Contains(a) }
	if !a.IsValid() || a.IsMulticast() || slices.ContainsFunc(alwaysDenied, contains) || slices.ContainsFunc(c.Deny, contains) {
		return true
	}
	return a.Is6() && c.embedsDenied(a)
}

// embedsDenied reports whether an IPv6 address has an IPv4 address within that must not be dialed.
func (c *Config) embedsDenied(a netip.Addr) bool {
	b := a.As16()
	for _, e := range embedding {
		if e.network.Contains(a) && c.isDenied(netip.AddrFrom4([4]byte(b[e.at:]))) {
			return true
		}
	}
	if teredo.Contains(a) && c.isDenied(netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})) {
		return true
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe && c.isDenied(netip.AddrFrom4([4]byte(b[12:]))) {
		return true // ISATAP (RFC 5214, section 6.1)
	}
	if !localNAT64.Contains(a) {
		return false
	}
	return slices.ContainsFunc(localNAT64At, func(at [4]int) bool {
		// a prefix of another length leaves 0 here
		return b[at[0]] != 0 && c.isDenied(netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]}))
	})
}

// unmapPrefix returns the IPv4 network that an IPv4-mapped one stands for; others are unchanged.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
