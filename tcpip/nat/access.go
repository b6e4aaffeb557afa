package nat

import (
	"net/netip"
	"slices"
)

// embedding are networks of IPv6 with an IPv4 address within: NAT64 (RFC 6052), 6to4 (RFC 3056),
// and where it is.
var embedding = []struct {
	network netip.Prefix
	at      int // offset of the IPv4 address in bytes
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("2002::/16"), 2}, {netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, {netip.MustParsePrefix("::/96"), 12},
}

// isDenied reports whether an address must not be dialed.
func (c *Config) isDenied(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	contains := func(p netip.Prefix) bool { return p.Contains(a) }
	if !a.IsValid() || a.IsMulticast() || slices.ContainsFunc(alwaysDenied, contains) || slices.ContainsFunc(c.Deny, contains) {
		return true
	}
	for _, e := range embedding {
		if b := a.As16(); e.network.Contains(a) && c.isDenied(netip.AddrFrom4([4]byte(b[e.at:]))) {
			return true
		}
	}
	return false
}
