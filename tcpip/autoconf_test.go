package tcpip

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// testRouter is a router on the other end of a link, which answers solicitations by one
// advertisement.
type testRouter struct {
	link   link.Link
	medium link.Medium
	advert wire.Advert
	got    chan wire.IPv6 // run -> the test: packets for another network; capacity 10, never closed
}

var (
	routerAddr = netip.MustParseAddr("fe80::99")
	routerMAC  = wire.MAC{2, 0, 0, 0, 0, 2}
)

// run reads frames until the link is closed.
func (r *testRouter) run() {
	batch := make([]link.Frame, 8)
	for {
		n, err := r.link.Queue(0).Read(batch, -1)
		if err != nil {
			return
		}
		for _, f := range batch[:n] {
			r.receive(f.Bytes)
		}
	}
}

func (r *testRouter) receive(frame []byte) {
	p, fault := wire.ParseIPv6(frame[r.medium.HeaderLen():])
	if fault != wire.OK {
		return
	}
	m, _ := wire.ParseICMPv6(p.Payload())
	switch {
	case p.NextHeader() == wire.ICMPv6Protocol && m.Type() == wire.RouterSolicit:
		r.send(routerAddr, allNodes, wire.AppendAdvert(nil, routerAddr, allNodes, &r.advert))
	case p.Dst() == netip.MustParseAddr("2001:db8:9::1"):
		r.got <- slices.Clone(p)
	}
}

// send sends a message of neighbour discovery to all hosts.
func (r *testRouter) send(src, dst netip.Addr, message []byte) {
	var b []byte
	if r.medium == link.Ethernet {
		b = wire.AppendEthernet(b, wire.MAC{0x33, 0x33, 0, 0, 0, 1}, routerMAC, wire.TypeIPv6)
	}
	b = wire.AppendIPv6(b, &wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, HopLimit: wire.NDPHopLimit, Src: src, Dst: dst, Payload: len(message)})
	r.link.Queue(0).Write(&link.Parts{Head: b, Body: [2][]byte{message}})
}

// behindRouter returns a stack that is configured by a router, which runs until the test ends.
func behindRouter(t *testing.T, m link.Medium, c Config, valid time.Duration) (*Stack, *testRouter) {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{Medium: m})
	r := &testRouter{link: lb, medium: m, got: make(chan wire.IPv6, 10)}
	prefix := wire.Prefix{Prefix: netip.MustParsePrefix("2001:db8:5::/64"), OnLink: true, Autonomous: true, Valid: valid, Preferred: valid}
	options := wire.AppendServers(wire.AppendMTU(wire.AppendPrefix(nil, &prefix), 1400), &wire.Servers{Lifetime: valid, Addrs: []netip.Addr{netip.MustParseAddr("2001:db8::53")}})
	if m == link.Ethernet {
		options = wire.AppendLinkAddr(options, wire.SourceLinkAddr, routerMAC)
	}
	r.advert = wire.Advert{HopLimit: 37, Lifetime: valid, Options: options}
	go r.run()
	t.Cleanup(func() { lb.Close() })
	c.Link, c.Autoconf = la, true
	return stack(t, c), r
}

// The stack solicits routers, and has an address, routes, an MTU, a hop limit and a name server a
// second later (RFC 4861, section 6.3; RFC 4862, section 5.5; RFC 8106).
func TestRoutersConfigureTheStack(t *testing.T) {
	for _, m := range []link.Medium{link.Ethernet, link.IP} {
		synctest.Test(t, func(t *testing.T) {
			s, r := behindRouter(t, m, Config{}, time.Hour)
			time.Sleep(3 * time.Second)
			network := netip.MustParsePrefix("2001:db8:5::/64")
			has := slices.ContainsFunc(s.Addrs(), func(p netip.Prefix) bool { return network.Contains(p.Addr()) })
			if !has {
				t.Fatalf("the stack has the addresses %v, want one in %v", s.Addrs(), network)
			}
			c := dial(t, s, "udp", "[2001:db8:9::1]:9")
			c.Write(make([]byte, 1380)) //nolint:errcheck // the router counts
			time.Sleep(time.Second)
			if len(r.got) != 2 {
				t.Errorf("the router got %d packets for another network, want two fragments", len(r.got))
			}
			for range len(r.got) {
				if p := <-r.got; p.HopLimit() != 37 || len(p) > 1400 {
					t.Errorf("got a packet of %d bytes with hop limit %d, want at most 1400 and 37", len(p), p.HopLimit())
				}
			}
			if got := *s.resolver.servers.Load(); len(got) != 1 || got[0].String() != "[2001:db8::53]:53" {
				t.Errorf("got the name servers %v, want [2001:db8::53]:53", got)
			}
		})
	}
}

// Packets to a network go by the router that announces a route there, the most preferred one, until
// its lifetime is over; others go by the default router (RFC 4191, sections 2.3 and 3.2).
func TestRoutersAnnounceRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := behindRouter(t, link.IP, Config{}, time.Hour)
		time.Sleep(3 * time.Second)
		check := func(when, dst, want string) {
			t.Helper()
			if _, hop, _, _ := s.routeTo(netip.MustParseAddr(dst), netip.Addr{}); hop.WithZone("").String() != want {
				t.Errorf("%s: a packet to %s goes to %v, want %s", when, dst, hop, want)
			}
		}
		announce := func(router string, preference wire.RouterPreference, lifetime byte) {
			from := netip.MustParseAddr(router)
			option := []byte{24, 2, 48, byte(preference) & 3 << 3, 0, 0, 0, lifetime, 0x20, 1, 0xd, 0xb8, 0, 9, 0, 0}
			r.send(from, allNodes, wire.AppendAdvert(nil, from, allNodes, &wire.Advert{Options: option}))
			time.Sleep(time.Second)
		}
		check("before", "2001:db8:9::1", "fe80::99")
		announce("fe80::77", wire.LowPreference, 60)
		check("with a route", "2001:db8:9::1", "fe80::77")
		check("with a route", "2001:db8:7::1", "fe80::99")
		announce("fe80::88", wire.HighPreference, 30)
		check("with a route that is preferred", "2001:db8:9::1", "fe80::88")
		time.Sleep(30 * time.Second)
		check("after the preferred one's lifetime", "2001:db8:9::1", "fe80::77")
		announce("fe80::77", wire.LowPreference, 0)
		check("after an advertisement with the lifetime 0", "2001:db8:9::1", "fe80::99")
	})
}

// Addresses and routes that routers have announced are removed when their lifetime is over.
func TestAnnouncedConfigurationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := behindRouter(t, link.Ethernet, Config{Addrs: prefixes("10.0.0.1/24")}, time.Minute)
		time.Sleep(3 * time.Second)
		before := len(s.Addrs())
		if _, _, _, ok := s.routeTo(netip.MustParseAddr("2001:db8:9::1"), netip.Addr{}); !ok {
			t.Error("there is no default route, want the router's")
		}
		time.Sleep(time.Minute)
		if after := len(s.Addrs()); after != before-1 {
			t.Errorf("got %d addresses after the lifetime, %d before, want one less", after, before)
		}
		if _, _, _, ok := s.routeTo(netip.MustParseAddr("2001:db8:9::1"), netip.Addr{}); ok {
			t.Error("there is a default route after its lifetime, want none")
		}
	})
}

// Without Autoconf, advertisements change nothing.
func TestAdvertisementsAreIgnoredUnlessWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		s := stack(t, Config{Link: la, Addrs: prefixes("fd00::1/64")})
		r := &testRouter{link: lb}
		defer lb.Close()
		time.Sleep(time.Second)
		before := s.Addrs()
		prefix := wire.Prefix{Prefix: netip.MustParsePrefix("2001:db8:5::/64"), OnLink: true, Autonomous: true, Valid: time.Hour, Preferred: time.Hour}
		r.send(routerAddr, allNodes, wire.AppendAdvert(nil, routerAddr, allNodes, &wire.Advert{Lifetime: time.Hour, Options: wire.AppendPrefix(nil, &prefix)}))
		time.Sleep(time.Second)
		if after := s.Addrs(); !slices.Equal(after, before) {
			t.Errorf("got the addresses %v, want %v", after, before)
		}
	})
}
