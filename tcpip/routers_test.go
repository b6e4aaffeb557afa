package tcpip

import (
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// lanRouter is a router of a routerLAN: fe80::N at 02:00:00:00:01:0N, where N is its number.
type lanRouter struct {
	addr netip.Addr
	mac  wire.MAC

	// Guarded by routerLAN.mu.
	silent  bool        // it answers no solicitation
	packets int         // packets for beyond that it got
	asked   []time.Time // when it was solicited
}

// routerLAN is a link on which a stack is the host, beside several routers.
type routerLAN struct {
	s    *Stack
	link link.Link

	prefix string // the network that routers announce

	mu       sync.Mutex
	routers  map[byte]*lanRouter
	labels   []uint32           // flow labels of the packets for beyond
	probes   map[netip.Addr]int // probes for duplicates, by their target
	solicits int                // router solicitations
	reports  int                // multicast listener reports
}

// beyond is an address that only routers reach.
var beyond = netip.MustParseAddr("2001:db8:9::1")

// lanOf returns a stack of that configuration beside routers of these numbers, which have announced
// nothing yet.
func lanOf(t *testing.T, c Config, numbers ...byte) *routerLAN {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{})
	n := &routerLAN{link: lb, prefix: "2001:db8:5::/64", routers: map[byte]*lanRouter{}, probes: map[netip.Addr]int{}}
	for _, r := range numbers {
		n.routers[r] = &lanRouter{addr: netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 15: r}), mac: wire.MAC{2, 0, 0, 0, 1, r}}
	}
	go n.run()
	t.Cleanup(func() { lb.Close() })
	c.Link, c.Autoconf = la, true
	n.s = stack(t, c)
	time.Sleep(3 * time.Second)
	return n
}

// run reads frames until the link is closed.
func (n *routerLAN) run() {
	batch := make([]link.Frame, 8)
	for {
		count, err := n.link.Queue(0).Read(batch, -1)
		if err != nil {
			return
		}
		for _, f := range batch[:count] {
			n.receive(f.Bytes)
		}
	}
}

// receive counts a packet for beyond, and has its router answer a solicitation.
func (n *routerLAN) receive(frame []byte) {
	e, _ := wire.ParseEthernet(frame)
	p, fault := wire.ParseIPv6(e.Payload())
	if fault != wire.OK {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.countMessage(p)
	for _, r := range n.routers {
		if p.Dst() == beyond && e.Dst() == r.mac {
			r.packets++
			n.labels = append(n.labels, p.FlowLabel())
		}
		m, _ := wire.ParseICMPv6(p.Payload())
		if ask, fault := wire.ParseNeighbour(m); p.NextHeader() == wire.ICMPv6Protocol && m.Type() == wire.NeighbourSolicit && fault == wire.OK && ask.Target == r.addr {
			r.asked = append(r.asked, time.Now())
			if !r.silent {
				answer := wire.Neighbour{Target: r.addr, Router: true, Solicited: true, Override: true, Options: wire.AppendLinkAddr(nil, wire.TargetLinkAddr, r.mac)}
				n.send(r.mac, r.addr, p.Src(), wire.AppendNeighbour(nil, r.addr, p.Src(), wire.NeighbourAdvert, &answer))
			}
		}
	}
}

// countMessage counts what the stack sends to groups. n.mu is held.
func (n *routerLAN) countMessage(p wire.IPv6) {
	protocol, message, _ := wire.UpperLayer(p.NextHeader(), p.Payload())
	m, fault := wire.ParseICMPv6(message)
	if protocol != wire.ICMPv6Protocol || fault != wire.OK {
		return
	}
	switch m.Type() {
	case wire.RouterSolicit:
		n.solicits++
	case wire.ListenerReport2:
		n.reports++
	case wire.NeighbourSolicit:
		if ask, fault := wire.ParseNeighbour(m); fault == wire.OK && p.Src().IsUnspecified() {
			n.probes[ask.Target]++
		}
	}
}

// send sends a message of neighbour discovery to the stack.
func (n *routerLAN) send(mac wire.MAC, src, dst netip.Addr, message []byte) {
	b := wire.AppendEthernet(nil, n.s.ifaces[0].caps.MAC, mac, wire.TypeIPv6)
	b = wire.AppendIPv6(b, &wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, HopLimit: wire.NDPHopLimit, Src: src, Dst: dst, Payload: len(message)})
	n.link.Queue(0).Write(&link.Parts{Head: b, Body: [2][]byte{message}})
}

// advertise has a router announce itself, and a prefix for an address.
func (n *routerLAN) advertise(number byte, a wire.Advert) {
	r := n.routers[number]
	prefix := wire.Prefix{Prefix: netip.MustParsePrefix(n.prefix), OnLink: true, Autonomous: true, Valid: day, Preferred: day}
	a.Options = wire.AppendLinkAddr(wire.AppendPrefix(a.Options, &prefix), wire.SourceLinkAddr, r.mac)
	n.send(r.mac, r.addr, allNodes, wire.AppendAdvert(nil, r.addr, allNodes, &a))
	time.Sleep(2 * time.Second)
}

// setSilent makes a router answer solicitations, or not.
func (n *routerLAN) setSilent(number byte, silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.routers[number].silent = silent
}

// packetsOf returns how many packets for beyond a router has got.
func (n *routerLAN) packetsOf(number byte) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.routers[number].packets
}

// solicitationsOf returns when a router was solicited.
func (n *routerLAN) solicitationsOf(number byte) []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.routers[number].asked)
}

// hop returns the number of the router that packets for beyond go to; 0: none.
func (n *routerLAN) hop() byte {
	if _, hop, _, ok := n.s.routeTo(beyond, netip.Addr{}); ok {
		return hop.As16()[15]
	}
	return 0
}

// RFC 4861, section 7.2.5: a default router whose accepted advertisement has a clear Router flag is
// removed. An advertisement is not accepted if it comes from beyond the link, is about a host that
// is no neighbour, or contradicts the known hardware address without the Override flag.
func TestARouterThatBecomesAHostIsRemoved(t *testing.T) {
	forger := wire.MAC{2, 0, 0, 0, 1, 99}
	for _, c := range []struct {
		name string
		mac  wire.MAC // in the option; zero: that of the router
		n    wire.Neighbour
		hops uint8
		want byte // the router in use afterwards
	}{
		{"the Router flag is set", wire.MAC{}, wire.Neighbour{Router: true, Override: true}, wire.NDPHopLimit, 1},
		{"the Router flag is clear", wire.MAC{}, wire.Neighbour{Override: true}, wire.NDPHopLimit, 2},
		{"clear, without Override, of the known hardware address", wire.MAC{}, wire.Neighbour{}, wire.NDPHopLimit, 2},
		{"clear, of another hardware address, without Override", forger, wire.Neighbour{}, wire.NDPHopLimit, 1},
		{"clear, from beyond the link", wire.MAC{}, wire.Neighbour{Override: true}, wire.NDPHopLimit - 1, 1},
		{"clear, solicited, but to a group", wire.MAC{}, wire.Neighbour{Solicited: true, Override: true}, wire.NDPHopLimit, 1},
		{"clear, of a host that is no neighbour", wire.MAC{}, wire.Neighbour{Target: netip.MustParseAddr("fe80::77"), Override: true}, wire.NDPHopLimit, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			lan := lanOf(t, Config{}, 1, 2)
			lan.advertise(1, wire.Advert{Lifetime: time.Hour})
			lan.advertise(2, wire.Advert{Lifetime: time.Hour})
			r := lan.routers[1]
			if c.mac == (wire.MAC{}) {
				c.mac = r.mac
			}
			if !c.n.Target.IsValid() {
				c.n.Target = r.addr
			}
			c.n.Options = wire.AppendLinkAddr(nil, wire.TargetLinkAddr, c.mac)
			message := wire.AppendNeighbour(nil, r.addr, allNodes, wire.NeighbourAdvert, &c.n)
			b := wire.AppendEthernet(nil, lan.s.ifaces[0].caps.MAC, c.mac, wire.TypeIPv6)
			b = wire.AppendIPv6(b, &wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, HopLimit: c.hops, Src: r.addr, Dst: allNodes, Payload: len(message)})
			lan.link.Queue(0).Write(&link.Parts{Head: b, Body: [2][]byte{message}})
			time.Sleep(time.Second)
			if got := lan.hop(); got != c.want {
				t.Errorf("%s: packets go to router %d, want %d", c.name, got, c.want)
			}
		})
	}
}

// RFC 4861, section 6.3.4: a neighbour is probed a Reachable Time after its last answer and a bit,
// each Retrans Timer, if routers announce these.
func TestAnnouncedTimersAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := lanOf(t, Config{}, 1)
		lan.advertise(1, wire.Advert{Lifetime: time.Hour, Reachable: 6 * time.Second, Retransmit: 4 * time.Second})
		c := dial(t, lan.s, "udp", "[2001:db8:9::1]:9")
		use := func(seconds int) {
			for range seconds {
				c.Write([]byte("x")) //nolint:errcheck // the routers count
				time.Sleep(time.Second)
			}
		}
		use(60)
		if n := len(lan.solicitationsOf(1)); n < 4 || n > 8 {
			t.Errorf("a neighbour in use was solicited %d times in a minute, want once in 8 to 14 s", n)
		}
		before := len(lan.solicitationsOf(1))
		lan.setSilent(1, true)
		use(60)
		all, shortest := lan.solicitationsOf(1)[before:], time.Hour
		for n := 1; n < len(all); n++ {
			shortest = min(shortest, all[n].Sub(all[n-1]))
		}
		if shortest < 4*time.Second || shortest > 4200*time.Millisecond {
			t.Errorf("a neighbour that does not answer was solicited again after %v, want 4 s", shortest)
		}
	})
}

// RFC 4861, section 6.3.6, and RFC 4191, sections 3.2 and 3.5: packets go to the next router when
// the first one does not answer, and back when it does again. It is probed once a minute, by one
// solicitation, while the other one is used.
func TestPacketsGoToARouterThatAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := lanOf(t, Config{}, 1, 2)
		lan.advertise(1, wire.Advert{Lifetime: time.Hour, Preference: wire.HighPreference})
		lan.advertise(2, wire.Advert{Lifetime: time.Hour})
		c := dial(t, lan.s, "udp", "[2001:db8:9::1]:9")
		use := func(seconds int) {
			for range seconds {
				c.Write([]byte("x")) //nolint:errcheck // the routers count
				time.Sleep(time.Second)
			}
		}
		use(20)
		if got := lan.packetsOf(1); got != 20 {
			t.Errorf("while both answer: the preferred router got %d packets, want 20", got)
		}
		lan.setSilent(1, true)
		use(90)
		if got := lan.hop(); got != 2 {
			t.Errorf("90 s after the preferred router became silent: packets go to router %d, want 2", got)
		}
		before := lan.solicitationsOf(1)
		use(300)
		all := lan.solicitationsOf(1)
		if n := len(all) - len(before); n < 4 || n > 5 {
			t.Errorf("the silent router was solicited %d times in 5 minutes, want once a minute", n)
		}
		if got := lan.packetsOf(2); got < 340 {
			t.Errorf("the other router got %d packets, want 340 or more of 390", got)
		}
		time.Sleep(5 * time.Minute)
		if n := len(lan.solicitationsOf(1)) - len(all); n > 1 {
			t.Errorf("the silent router was solicited %d times in 5 minutes without traffic, want at most once (RFC 4191, section 3.5)", n)
		}
		lan.setSilent(1, false)
		use(70)
		if got := lan.hop(); got != 1 {
			t.Errorf("70 s after the preferred router answers again: packets go to router %d, want 1", got)
		}
	})
}

// A packet that waits for a router that does not answer goes to the next one; its sender sees an
// error only if none answers. Routers that have all failed are tried in turn.
func TestPacketsForASilentRouterGoToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := lanOf(t, Config{}, 1, 2, 3)
		plain := func(number byte) { // without the router's hardware address
			r := lan.routers[number]
			lan.send(r.mac, r.addr, allNodes, wire.AppendAdvert(nil, r.addr, allNodes, &wire.Advert{Lifetime: time.Hour}))
			time.Sleep(time.Second)
		}
		lan.advertise(1, wire.Advert{}) // a prefix, but no default router
		plain(1)
		plain(2)
		plain(3)
		lan.s.ifaces[0].mu.Lock()
		lan.s.ifaces[0].neigh.Clear()
		lan.s.ifaces[0].mu.Unlock()
		lan.setSilent(1, true)
		lan.setSilent(2, true)
		c := dial(t, lan.s, "udp", "[2001:db8:9::1]:9")
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if got := lan.packetsOf(3); got != 1 {
			t.Errorf("router 3 got %d packets, want the one that waited for 1 and 2", got)
		}
		lan.setSilent(3, true)
		var failed error
		for range 120 {
			if _, err := c.Write([]byte("x")); err != nil {
				failed = err
			}
			time.Sleep(time.Second)
		}
		if failed == nil {
			t.Error("all routers are silent: got no error, want EHOSTUNREACH")
		}
		lan.setSilent(2, false)
		for range 30 {
			c.Write([]byte("x")) //nolint:errcheck // the routers count
			time.Sleep(time.Second)
		}
		if got := lan.hop(); got != 2 {
			t.Errorf("after router 2 alone answers again: packets go to router %d, want 2", got)
		}
	})
}
