package tcpip

import "net/netip"

// Link-local addresses of IPv6 are the same on every link. Inside the stack they have the name of
// their interface as zone (RFC 4007): fe80::1%link. Packets carry none.

// isLinkScoped reports whether an address means another host on each link.
func isLinkScoped(a netip.Addr) bool {
	return a.Is6() && (a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsInterfaceLocalMulticast())
}

// withZone returns a with a zone, if its meaning depends on one.
func withZone(a netip.Addr, zone string) netip.Addr {
	if zone == "" || !isLinkScoped(a) {
		return a
	}
	return a.WithZone(zone)
}

// zoned returns an address of a packet of this interface as the stack uses it.
func (i *iface) zoned(a netip.Addr) netip.Addr { return withZone(a, i.name) }

// canonicalAddr returns an address of the application as the stack uses it: IPv4-mapped ones are
// IPv4, and a link-local one without a zone is that of the first link.
func (s *Stack) canonicalAddr(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || !isLinkScoped(a) {
		return a
	}
	return a.WithZone(s.ifaces[0].name)
}

// zoneNumber returns a number for a zone that zoneName converts back; 0 for a zone that is no
// interface's.
func (s *Stack) zoneNumber(zone string) int {
	for n, i := range s.ifaces {
		if i.name == zone {
			return n + 1
		}
	}
	return 0
}

// zoneName returns the zone of a number of zoneNumber; "" for 0.
func (s *Stack) zoneName(n int) string {
	if n == 0 || n > len(s.ifaces) {
		return ""
	}
	return s.ifaces[n-1].name
}
