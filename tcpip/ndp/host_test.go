package ndp

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/wire"
)

var (
	router1 = netip.MustParseAddr("fe80::1")
	router2 = netip.MustParseAddr("fe80::2")
	net1    = netip.MustParsePrefix("2001:db8:1::/64")
)

func newHost() *Host {
	return New(Config{Interface: "link", Key: []byte("key"), LinkMTU: 1500, Jitter: func() time.Duration { return time.Second / 2 }}, 1)
}

// advert returns an advertisement of a default router with a prefix.
func advert(lifetime, valid, preferred time.Duration) *wire.Advert {
	p := wire.Prefix{Prefix: net1, OnLink: true, Autonomous: true, Valid: valid, Preferred: preferred}
	return &wire.Advert{HopLimit: 64, Lifetime: lifetime, Options: wire.AppendPrefix(nil, &p)}
}

// at returns the time after a start of 1.
func at(d time.Duration) Time { return 1 + Time(d) }

// RFC 7559, section 2: solicitations at growing intervals, until an advertisement arrives.
func TestSolicitationsAreRepeatedUntilARouterAnswers(t *testing.T) {
	h := newHost()
	var sent []time.Duration
	now := Time(1)
	for range 8 {
		solicit, _, next := h.Tick(now)
		if solicit {
			sent = append(sent, time.Duration(now-1).Truncate(time.Millisecond))
		}
		now = next
	}
	if want := []time.Duration{500 * time.Millisecond, 4500 * time.Millisecond, 12500 * time.Millisecond, 28500 * time.Millisecond}; !slices.Equal(sent[:4], want) {
		t.Errorf("solicitations at %v, want %v", sent[:4], want)
	}
	h.Receive(router1, &wire.Advert{}, now)
	if _, _, next := h.Tick(now); next != 0 {
		t.Errorf("after an advertisement: the next deadline is %v, want none", next)
	}
}

func TestAnAdvertisementConfiguresTheHost(t *testing.T) {
	h := newHost()
	a := advert(30*time.Minute, time.Hour, 10*time.Minute)
	a.Options = wire.AppendMTU(wire.AppendServers(a.Options, &wire.Servers{Lifetime: time.Hour, Addrs: []netip.Addr{router1}}), 1400)
	if !h.Receive(router1, a, at(0)) {
		t.Error("the state has not changed, want it changed")
	}
	s := h.State(at(0))
	want := State{Addrs: []Addr{{StableAddr(net1, "link", 0, []byte("key")), false, false}}, Routes: []Route{{allAddrs, router1}}, Prefixes: []netip.Prefix{net1}, Servers: []netip.Addr{router1}, MTU: 1400, HopLimit: 64}
	if !s.equal(want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if h.Receive(router1, a, at(time.Second)) {
		t.Error("the same advertisement has changed the state, want it unchanged")
	}
}

// Lifetimes end one after the other: the address is deprecated, the router is gone, all is gone.
func TestLifetimesEnd(t *testing.T) {
	h := newHost()
	h.Receive(router1, advert(30*time.Minute, time.Hour, 10*time.Minute), at(0))
	for _, c := range []struct {
		at                 time.Duration
		addrs, routers     int
		deprecated, change bool
	}{{10*time.Minute - 1, 1, 1, false, false}, {10 * time.Minute, 1, 1, true, true}, {30 * time.Minute, 1, 0, true, true}, {time.Hour, 0, 0, false, true}} {
		_, changed, _ := h.Tick(at(c.at))
		s := h.State(at(c.at))
		if changed != c.change || len(s.Addrs) != c.addrs || len(s.routers()) != c.routers || c.addrs > 0 && s.Addrs[0].Deprecated != c.deprecated {
			t.Errorf("after %v: got %+v, changed %t; want %+v", c.at, s, changed, c)
		}
	}
}

// Tick names each deadline.
func TestTickReturnsTheNextDeadline(t *testing.T) {
	h := newHost()
	h.Receive(router1, advert(30*time.Minute, time.Hour, 10*time.Minute), at(0))
	now := at(0)
	for _, want := range []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour} {
		_, _, next := h.Tick(now)
		if next != at(want) {
			t.Errorf("the next deadline is %v, want %v", time.Duration(next-1), want)
		}
		now = next
	}
	if _, _, next := h.Tick(now); next != 0 {
		t.Errorf("in the end: the next deadline is %v, want none", next)
	}
}

// RFC 4862, section 5.5.3 (e): a forged advertisement cannot end an address at once.
func TestLifetimesAreNotCutBelowTwoHours(t *testing.T) {
	for _, c := range []struct{ have, advertised, want time.Duration }{
		{time.Hour, 2 * time.Hour, 2 * time.Hour},
		{10 * time.Hour, time.Minute, 2 * time.Hour},
		{time.Hour, time.Minute, time.Hour},
		{10 * time.Hour, 3 * time.Hour, 3 * time.Hour},
	} {
		h := newHost()
		h.Receive(router1, advert(time.Hour, c.have, time.Minute), at(0))
		h.Receive(router1, advert(time.Hour, c.advertised, time.Minute), at(0))
		if got := time.Duration(h.addrs[0].validUntil - 1); got != c.want {
			t.Errorf("a lifetime of %v, advertised as %v: got %v, want %v", c.have, c.advertised, got, c.want)
		}
	}
}

func TestInvalidPrefixesAreIgnored(t *testing.T) {
	for name, p := range map[string]wire.Prefix{
		"link-local":                  {Prefix: netip.MustParsePrefix("fe80::/64"), OnLink: true, Autonomous: true, Valid: time.Hour, Preferred: time.Hour},
		"preferred longer than valid": {Prefix: net1, Autonomous: true, Valid: time.Minute, Preferred: time.Hour},
		"not of 64 bits":              {Prefix: netip.MustParsePrefix("2001:db8::/56"), Autonomous: true, Valid: time.Hour, Preferred: time.Hour},
		"a valid lifetime of zero":    {Prefix: net1, Autonomous: true, OnLink: true},
		"neither flag":                {Prefix: net1, Valid: time.Hour, Preferred: time.Hour},
	} {
		h := newHost()
		h.Receive(router1, &wire.Advert{Options: wire.AppendPrefix(nil, &p)}, at(0))
		if s := h.State(at(0)); len(s.Addrs)+len(s.Prefixes) != 0 {
			t.Errorf("%s: got %+v, want nothing", name, s)
		}
	}
}

// A stranger on the link can announce as much as it likes: what is kept is limited.
func TestWhatIsAnnouncedIsLimited(t *testing.T) {
	h := newHost()
	for i := range 1000 {
		b := [16]byte{0x20, 1, 0xd, 0xb8, 4: byte(i >> 8), 5: byte(i)}
		p := wire.Prefix{Prefix: netip.PrefixFrom(netip.AddrFrom16(b), 64), OnLink: true, Autonomous: true, Valid: time.Hour, Preferred: time.Hour}
		b[0], b[1] = 0xfe, 0x80
		h.Receive(netip.AddrFrom16(b), &wire.Advert{Lifetime: time.Hour, Options: wire.AppendServers(wire.AppendPrefix(nil, &p), &wire.Servers{Lifetime: time.Hour, Addrs: []netip.Addr{netip.AddrFrom16(b)}})}, at(0))
	}
	if s := h.State(at(0)); len(s.Addrs) != maxPrefixes || len(s.Prefixes) != maxPrefixes || len(s.routers()) != maxRouters || len(s.Servers) != maxServers {
		t.Errorf("got %d addresses, %d prefixes, %d routers and %d servers, want the limits", len(s.Addrs), len(s.Prefixes), len(s.routers()), len(s.Servers))
	}
}

// RFC 4191, section 3.2: the router with the highest preference is the default one.
func TestRoutersHavePreferences(t *testing.T) {
	h := newHost()
	h.Receive(router1, &wire.Advert{Lifetime: time.Hour}, at(0))
	h.Receive(router2, &wire.Advert{Lifetime: time.Hour, Preference: wire.HighPreference}, at(0))
	if s := h.State(at(0)); !slices.Equal(s.routers(), []netip.Addr{router2, router1}) {
		t.Errorf("got the routers %v, want the one of high preference first", s.routers())
	}
	h.Receive(router2, &wire.Advert{}, at(0))
	if s := h.State(at(0)); !slices.Equal(s.routers(), []netip.Addr{router1}) {
		t.Errorf("after a lifetime of zero: got the routers %v, want the other one only", s.routers())
	}
}

// RFC 7217, section 6: another address is tried, three in all.
func TestDuplicateAddressesAreReplaced(t *testing.T) {
	h := newHost()
	h.Receive(router1, advert(time.Hour, time.Hour, time.Hour), at(0))
	seen := map[netip.Addr]bool{}
	for range maxTries {
		s := h.State(at(0))
		if len(s.Addrs) != 1 || seen[s.Addrs[0].Addr] {
			t.Fatalf("got the addresses %v, want another one", s.Addrs)
		}
		seen[s.Addrs[0].Addr] = true
		h.Duplicate(s.Addrs[0].Addr, at(0))
	}
	h.Receive(router1, advert(time.Hour, time.Hour, time.Hour), at(0))
	if s := h.State(at(0)); len(s.Addrs) != 0 {
		t.Errorf("after three duplicates: got the addresses %v, want none", s.Addrs)
	}
}

// routers returns the default routers, the best first.
func (s State) routers() (all []netip.Addr) {
	for _, r := range s.Routes {
		if r.To == allAddrs {
			all = append(all, r.By)
		}
	}
	return all
}
