package tcpip

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// sendRedirect sends a redirect to the stack, from a router's hardware address.
func (n *routerLAN) sendRedirect(from netip.Addr, hops uint8, r wire.Redirect) {
	own := n.s.ifaces[0].sourceFor(routerAddr).WithZone("")
	message := wire.AppendRedirect(nil, from, own, &r)
	b := wire.AppendEthernet(nil, n.s.ifaces[0].caps.MAC, n.routers[1].mac, wire.TypeIPv6)
	b = wire.AppendIPv6(b, &wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, HopLimit: hops, Src: from, Dst: own, Payload: len(message)})
	n.link.Queue(0).Write(&link.Parts{Head: b, Body: [2][]byte{message}})
	time.Sleep(time.Second)
}

// redirectingLAN is a link on which packets for beyond go to router 1; router 2 is another one.
func redirectingLAN(t *testing.T, c Config) *routerLAN {
	lan := lanOf(t, c, 1, 2)
	lan.advertise(1, wire.Advert{Lifetime: 2 * time.Hour, Preference: wire.HighPreference})
	lan.advertise(2, wire.Advert{Lifetime: 2 * time.Hour})
	return lan
}

// RFC 4861, sections 8.1 and 8.3: a redirect is followed if it comes from the router that packets
// to the destination go to, by the link. It concerns that destination only.
func TestValidRedirectsAreFollowed(t *testing.T) {
	one, two, host := netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2"), netip.MustParseAddr("2001:db8:5::77")
	for _, c := range []struct {
		name   string
		config Config
		from   netip.Addr
		hops   uint8
		r      wire.Redirect
		want   string // the first hop for beyond afterwards
	}{
		{"to another router", Config{}, one, 255, wire.Redirect{Target: two, Dst: beyond}, "fe80::2%link"},
		{"to the destination, as it is on the link", Config{}, one, 255, wire.Redirect{Target: beyond, Dst: beyond}, beyond.String()},
		{"for another destination", Config{}, one, 255, wire.Redirect{Target: two, Dst: netip.MustParseAddr("2001:db8:9::2")}, "fe80::1%link"},
		{"from beyond the link", Config{}, one, 254, wire.Redirect{Target: two, Dst: beyond}, "fe80::1%link"},
		{"from a router that is not in use", Config{}, two, 255, wire.Redirect{Target: two, Dst: beyond}, "fe80::1%link"},
		{"from an address that is not link-local", Config{}, host, 255, wire.Redirect{Target: two, Dst: beyond}, "fe80::1%link"},
		{"to a host that is not the destination", Config{}, one, 255, wire.Redirect{Target: host, Dst: beyond}, "fe80::1%link"},
		{"of a group", Config{}, one, 255, wire.Redirect{Target: two, Dst: netip.MustParseAddr("ff0e::1")}, "fe80::1%link"},
		{"that the program does not want", Config{IgnoreRedirects: true}, one, 255, wire.Redirect{Target: two, Dst: beyond}, "fe80::1%link"},
	} {
		synctest.Test(t, func(t *testing.T) {
			lan := redirectingLAN(t, c.config)
			lan.sendRedirect(c.from, c.hops, c.r)
			if _, hop, _, _ := lan.s.routeTo(beyond, netip.Addr{}); hop.String() != c.want {
				t.Errorf("a redirect %s: packets go to %v, want %s", c.name, hop, c.want)
			}
		})
	}
}

// Packets follow a redirect until it ends, its target does not answer or is no router any more, the
// route is another one, or the link has changed.
func TestRedirectsEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*routerLAN)
	}{
		{"its lifetime is over", func(*routerLAN) { time.Sleep(redirectLifetime) }},
		{"its target does not answer", func(lan *routerLAN) {
			lan.setSilent(2, true)
			c, _ := lan.s.Dial("udp", "[2001:db8:9::1]:9")
			for range 60 {
				c.Write([]byte("x")) //nolint:errcheck // the routers count
				time.Sleep(time.Second)
			}
		}},
		{"its target becomes a host", func(lan *routerLAN) {
			n := wire.Neighbour{Target: lan.routers[2].addr, Override: true, Options: wire.AppendLinkAddr(nil, wire.TargetLinkAddr, lan.routers[2].mac)}
			lan.send(lan.routers[2].mac, lan.routers[2].addr, allNodes, wire.AppendNeighbour(nil, lan.routers[2].addr, allNodes, wire.NeighbourAdvert, &n))
			time.Sleep(time.Second)
		}},
		{"the link has changed", func(lan *routerLAN) {
			lan.s.LinkChanged("") //nolint:errcheck // the test sees it
			lan.advertise(1, wire.Advert{Lifetime: time.Hour})
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			lan := redirectingLAN(t, Config{})
			lan.sendRedirect(lan.routers[1].addr, 255, wire.Redirect{Target: lan.routers[2].addr, Dst: beyond, Options: wire.AppendLinkAddr(nil, wire.TargetLinkAddr, lan.routers[2].mac)})
			u := dial(t, lan.s, "udp", "[2001:db8:9::1]:9")
			u.Write([]byte("x")) //nolint:errcheck // the routers count
			time.Sleep(time.Second)
			if got := lan.packetsOf(2); got != 1 || lan.hop() != 2 {
				t.Errorf("router 2 got %d packets after the redirect, want 1", got)
			}
			c.do(lan)
			time.Sleep(time.Second)
			if got := lan.hop(); got != 1 {
				t.Errorf("after %s: packets go to router %d, want 1", c.name, got)
			}
			if all := lan.s.ifaces[0].redirects.Load(); all != nil && len(*all) != 0 {
				t.Errorf("after %s: got the redirects %v, want none", c.name, *all)
			}
		})
	}
}

// Redirects cannot fill the memory: the oldest ones are evicted.
func TestRedirectsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := redirectingLAN(t, Config{})
		target := lan.routers[2].addr
		for n := range 500 {
			dst := netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 9, 14: byte(n >> 8), 15: byte(n)})
			lan.sendRedirect(lan.routers[1].addr, 255, wire.Redirect{Target: target, Dst: dst})
		}
		all := lan.s.ifaces[0].redirects.Load()
		if all == nil || len(*all) != maxRedirects {
			t.Fatalf("got the redirects %v, want %d", all, maxRedirects)
		}
		if last := (*all)[maxRedirects-1].dst; last != netip.MustParseAddr("2001:db8:9::1f3") {
			t.Error("the latest redirect is not followed, want the oldest ones evicted")
		}
	})
}
