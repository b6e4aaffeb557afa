package tcpip

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir/tcpip/ip"
	"weir/tcpip/link"
)

// The examples of RFC 6724, section 10.1, with the rules that this stack has.
func TestSourcesAreThoseOfRFC6724(t *testing.T) {
	for _, c := range []struct{ own, dst, want string }{
		{"2001:db8:3::1 fe80::1", "2001:db8:1::1", "2001:db8:3::1"},
		{"2001:db8:3::1 fe80::1", "ff05::1", "2001:db8:3::1"},
		{"2001:db8:1::1 2001:db8:2::1", "2001:db8:1::2", "2001:db8:1::1"},
		{"2001:db8:1::2 2001:db8:3::2", "2001:db8:1::3", "2001:db8:1::2"},
		{"fe80::1 2001:db8:1::2", "fe80::2", "fe80::1"},
		{"fe80::1 2001:db8:1::2", "ff02::1", "fe80::1"},
		{"fe80::1", "2001:db8::1", "fe80::1"},
		{"", "2001:db8::1", "invalid IP"},
	} {
		var a addresses
		for _, own := range strings.Fields(c.own) {
			a.v6 = append(a.v6, netip.MustParseAddr(own))
		}
		for range 2 { // the order of the addresses does not matter
			if got := a.sourceFor6(netip.MustParseAddr(c.dst)); got.String() != c.want {
				t.Errorf("from %s to %s: got the source %v, want %s", c.own, c.dst, got, c.want)
			}
			slices.Reverse(a.v6)
		}
	}
}

// The examples of RFC 6724, section 10.2, on a host with these addresses and default routes.
func TestDestinationsAreSortedByRFC6724(t *testing.T) {
	for _, c := range []struct{ addrs, dsts, want string }{
		{"2001:db8:1::2/64 169.254.13.78/16", "198.51.100.121 2001:db8:1::1", "2001:db8:1::1 198.51.100.121"},
		{"2001:db8:1::2/64 198.51.100.117/24", "198.51.100.121 2001:db8:1::1", "2001:db8:1::1 198.51.100.121"},
		{"198.51.100.117/24", "2001:db8:1::1 198.51.100.121", "198.51.100.121 2001:db8:1::1"},
		{"2001:db8:1::2/64 198.51.100.117/24", "fd00::9 198.51.100.121", "198.51.100.121 fd00::9"},
		{"2001:db8:1::2/64 2001:db8:3::2/64", "2001:db8:9::1 2001:db8:3::1", "2001:db8:3::1 2001:db8:9::1"},
	} {
		la, _ := link.Pair(link.PairConfig{})
		config := Config{Link: la, Addrs: prefixes(strings.Fields(c.addrs)...)}
		for _, all := range []string{"0.0.0.0/0", "::/0"} {
			to := netip.MustParsePrefix(all)
			if slices.ContainsFunc(config.Addrs, func(p netip.Prefix) bool { return p.Addr().Is4() == to.Addr().Is4() }) {
				config.Routes = append(config.Routes, ip.Route{To: to})
			}
		}
		s := stack(t, config)
		var all []netip.Addr
		for _, d := range strings.Fields(c.dsts) {
			all = append(all, netip.MustParseAddr(d))
		}
		s.sortDestinations(all)
		var got []string
		for _, a := range all {
			got = append(got, a.String())
		}
		if joined := strings.Join(got, " "); joined != c.want {
			t.Errorf("with %s: got the order %s, want %s", c.addrs, joined, c.want)
		}
	}
}
