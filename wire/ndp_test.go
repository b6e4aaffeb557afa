package wire

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"time"
)

func TestNeighbourMessagesAreReadAsWritten(t *testing.T) {
	mac := MAC{2, 0, 0, 0, 0, 1}
	n := Neighbour{Target: from6, Router: true, Solicited: true, Override: true, Options: AppendLinkAddr(AppendNonce(nil, [6]byte{1, 2, 3}), TargetLinkAddr, mac)}
	m, _ := ParseICMPv6(AppendNeighbour(nil, from6, to6, NeighbourAdvert, &n))
	got, fault := ParseNeighbour(m)
	if fault != OK || !m.ChecksumOK(from6, to6) || m.ChecksumOK(from6, from6) || got.Target != from6 || !got.Router || !got.Solicited || !got.Override || !bytes.Equal(got.Options, n.Options) {
		t.Errorf("got %+v, fault %v; want %+v", got, fault, n)
	}
	if found, ok := got.Options.LinkAddr(TargetLinkAddr); !ok || found != mac {
		t.Errorf("got the hardware address %v (%t), want %v", found, ok, mac)
	}
}

// RFC 4861, sections 4.6, 7.1.1 and 7.1.2.
func TestInvalidNeighbourMessagesAreRejected(t *testing.T) {
	message := func(change func(b []byte) []byte) ICMPv6 {
		n := Neighbour{Target: from6, Options: AppendLinkAddr(nil, SourceLinkAddr, MAC{2})}
		return change(AppendNeighbour(nil, from6, to6, NeighbourSolicit, &n))
	}
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		want   Fault
	}{
		"no target":                  {func(b []byte) []byte { return b[:20] }, Short},
		"a target that is a group":   {func(b []byte) []byte { b[8] = 0xff; return b }, WrongField},
		"a code other than 0":        {func(b []byte) []byte { b[1] = 1; return b }, WrongField},
		"an option of length 0":      {func(b []byte) []byte { b[25] = 0; return b }, WrongOption},
		"an option beyond the end":   {func(b []byte) []byte { b[25] = 2; return b }, WrongOption},
		"an option without its half": {func(b []byte) []byte { return b[:28] }, WrongOption},
	} {
		if _, fault := ParseNeighbour(message(c.change)); fault != c.want {
			t.Errorf("%s: got fault %v, want %v", name, fault, c.want)
		}
	}
}

func TestRouterAdvertisementsAreReadAsWritten(t *testing.T) {
	prefix := Prefix{Prefix: netip.MustParsePrefix("2001:db8:1::/64"), OnLink: true, Autonomous: true, Valid: time.Hour, Preferred: Infinite}
	servers := Servers{Lifetime: time.Minute, Addrs: []netip.Addr{from6, to6}}
	a := Advert{HopLimit: 64, Managed: true, Other: true, Preference: LowPreference, Lifetime: 1800 * time.Second, Reachable: 30 * time.Second, Retransmit: time.Second,
		Options: AppendServers(AppendMTU(AppendPrefix(nil, &prefix), 1400), &servers)}
	m, _ := ParseICMPv6(AppendAdvert(nil, to6, from6, &a))
	got, fault := ParseAdvert(m)
	if fault != OK || got.HopLimit != 64 || !got.Managed || !got.Other || got.Preference != LowPreference || got.Lifetime != a.Lifetime || got.Reachable != a.Reachable || got.Retransmit != a.Retransmit {
		t.Fatalf("got %+v, fault %v; want %+v", got, fault, a)
	}
	all := slices.Collect(got.Options.All())
	if len(all) != 3 {
		t.Fatalf("got %d options, want 3", len(all))
	}
	if p, ok := all[0].Prefix(); !ok || p != prefix {
		t.Errorf("got the prefix %+v, want %+v", p, prefix)
	}
	if all[1].MTU() != 1400 {
		t.Errorf("got the MTU %d, want 1400", all[1].MTU())
	}
	if s, ok := all[2].Servers(); !ok || s.Lifetime != servers.Lifetime || !slices.Equal(s.Addrs, servers.Addrs) {
		t.Errorf("got the servers %+v, want %+v", s, servers)
	}
}

// RFC 4191, section 2.3: the prefix of a route may be cut off behind its length.
func TestRoutesAreRead(t *testing.T) {
	option := NDPOption{byte(RouteInfo), 2, 48, 8, 0, 0, 0, 60, 0x20, 1, 0xd, 0xb8, 0, 1, 0, 0}
	if r, ok := option.Route(); !ok || r.To != netip.MustParsePrefix("2001:db8:1::/48") || r.Preference != HighPreference || r.Lifetime != time.Minute {
		t.Errorf("got %+v (%t), want 2001:db8:1::/48, high, a minute", r, ok)
	}
	option[2] = 65
	if r, ok := option.Route(); ok {
		t.Errorf("got %+v, want no route: 65 bits do not fit in 8 bytes", r)
	}
}

func FuzzNDP(f *testing.F) {
	f.Add([]byte(AppendNeighbour(nil, from6, to6, NeighbourAdvert, &Neighbour{Target: from6, Override: true, Options: AppendLinkAddr(nil, TargetLinkAddr, MAC{2})})))
	f.Add([]byte(AppendAdvert(nil, from6, to6, &Advert{HopLimit: 9, Lifetime: time.Minute, Options: AppendMTU(AppendPrefix(nil, &Prefix{Prefix: netip.MustParsePrefix("fd00::/64"), OnLink: true}), 1280)})))
	f.Add([]byte(AppendRedirect(nil, from6, to6, &Redirect{Target: from6, Dst: from6, Options: AppendLinkAddr(nil, TargetLinkAddr, MAC{2})})))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, fault := ParseICMPv6(b)
		if fault != OK {
			return
		}
		if n, fault := ParseNeighbour(m); fault == OK {
			again, fault := ParseNeighbour(AppendNeighbour(nil, from6, to6, m.Type(), &n))
			if fault != OK || again.Target != n.Target || again.Router != n.Router || again.Solicited != n.Solicited || again.Override != n.Override || !bytes.Equal(again.Options, n.Options) {
				t.Errorf("%+v, written and read again: got %+v, fault %v; want the same", n, again, fault)
			}
		}
		if r, fault := ParseRedirect(m); fault == OK {
			again, fault := ParseRedirect(AppendRedirect(nil, from6, to6, &r))
			if fault != OK || again.Target != r.Target || again.Dst != r.Dst || !bytes.Equal(again.Options, r.Options) {
				t.Errorf("%+v, written and read again: got %+v, fault %v; want the same", r, again, fault)
			}
		}
		a, fault := ParseAdvert(m)
		if fault != OK {
			return
		}
		again, fault := ParseAdvert(AppendAdvert(nil, from6, to6, &a))
		if fault != OK || again.Lifetime != a.Lifetime || again.Preference != a.Preference || again.Managed != a.Managed || again.Reachable != a.Reachable || !bytes.Equal(again.Options, a.Options) {
			t.Errorf("%+v, written and read again: got %+v, fault %v; want the same", a, again, fault)
		}
		for o := range a.Options.All() { // none may panic
			o.Prefix()
			o.Servers()
			o.Route()
			o.LinkAddr()
			o.MTU()
		}
	})
}

// RFC 4191, sections 2.2 and 2.3: the reserved value counts as medium for a router, and makes a
// route invalid.
func TestReservedPreferences(t *testing.T) {
	for bits, want := range []RouterPreference{MediumPreference, HighPreference, MediumPreference, LowPreference} {
		from := netip.MustParseAddr("fe80::1")
		m, _ := ParseICMPv6(AppendAdvert(nil, from, from, &Advert{}))
		m[5] = byte(bits) << 3
		if a, fault := ParseAdvert(m); fault != OK || a.Preference != want {
			t.Errorf("a router with the bits %02b: got the preference %d, fault %v; want %d", bits, a.Preference, fault, want)
		}
		option := NDPOption{byte(RouteInfo), 2, 48, byte(bits) << 3, 0, 0, 0, 60, 0x20, 1, 0xd, 0xb8, 0, 9, 0, 0}
		if r, ok := option.Route(); ok != (bits != 2) || ok && r.Preference != want {
			t.Errorf("a route with the bits %02b: got the preference %d (%t), want %d, and none for 10", bits, r.Preference, ok, want)
		}
	}
}
