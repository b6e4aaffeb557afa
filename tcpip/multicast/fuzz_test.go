package multicast

import (
	"net/netip"
	"testing"
	"time"

	"weir/wire"
)

// FuzzHost has a host receive queries of all kinds while groups change. Deadlines lie in the
// future, and in the end the routers know what the host receives.
func FuzzHost(f *testing.F) {
	f.Add([]byte{0, 1, 0, 9, 2, 1, 0, 50, 4, 2, 1, 3, 8, 0, 1, 1})
	f.Add([]byte{6, 0, 10, 0, 0, 1, 0, 9, 3, 1, 0, 9, 2, 1, 2, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, ipv6 := range []bool{false, true} {
			fuzzHost(t, b, ipv6)
		}
	})
}

func fuzzHost(t *testing.T, b []byte, ipv6 bool) {
	s := newScript(t, ipv6)
	base, from := netip.MustParseAddr("239.1.1.0").As16(), netip.MustParseAddr("10.0.0.0").As16()
	if ipv6 {
		base, from = netip.MustParseAddr("ff12::").As16(), netip.MustParseAddr("2001:db8::").As16()
	}
	numbered := func(a [16]byte, n byte) netip.Addr {
		a[15] = n
		return netip.AddrFrom16(a).Unmap()
	}
	routers := map[netip.Addr]bool{} // groups that a router has heard of in the newest version
	send := func(r *wire.GroupReport) {
		for _, one := range r.Records {
			if one.Len() > 1200 {
				t.Fatalf("got a record of %d bytes, want at most 1200", one.Len())
			}
			routers[one.Group] = true
		}
	}
	for ; len(b) >= 4; b = b[4:] {
		group := numbered(base, b[1]%4)
		var sources []netip.Addr
		for i := range b[2] % 80 {
			sources = append(sources, numbered(from, b[2]+i))
		}
		switch b[0] % 8 {
		case 0, 1:
			if b[2]%3 == 0 {
				sources = nil
			}
			s.h.Set(group, Filter{b[0]%2 == 0, SortSources(sources[:min(len(sources), MaxSources)])}, s.now, send)
		case 2, 3, 4, 5, 6:
			q := wire.GroupQuery{Version: b[0]%8%3 + 1, Group: group, MaxResponse: time.Duration(b[3]) * 100 * time.Millisecond, Robustness: b[1] & 7, Interval: time.Duration(b[2]) * time.Second}
			if q.Version = min(q.Version, s.h.newest); q.Version == s.h.newest {
				q.Sources = wire.NewAddrList(sources...)
			}
			if b[3]&1 == 0 {
				q.Group = netip.IPv4Unspecified()
			}
			s.h.Receive(&q, s.now)
		case 7:
			s.h.ReceiveReport(group)
		}
		s.runUntil(s.now + Time(b[3])*Time(10*time.Millisecond))
		if len(s.h.groups) > 4 {
			t.Fatalf("got %d groups, want at most those that were set", len(s.h.groups))
		}
	}
	s.runUntil(s.now + Time(24*time.Hour))
	clear(routers)
	s.h.Receive(&wire.GroupQuery{Version: s.h.newest, Group: netip.IPv4Unspecified(), MaxResponse: time.Second, Robustness: 2}, s.now)
	s.h.Tick(s.now+Time(2*time.Second), send)
	for group, g := range s.h.groups {
		if g.filter.IsNone() || !routers[group] {
			t.Fatalf("after a day, the group %v has the filter %+v, reported %t; want the groups that the host has, and each reported", group, g.filter, routers[group])
		}
	}
}
