package tcpip

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// autoAddrs returns the global addresses of a stack that are not its configured one, fd00::5, and
// how many of them are temporary.
func autoAddrs(s *Stack) (all []netip.Addr, temporary int) {
	own := s.ifaces[0].ownAddrs.Load()
	for _, a := range own.v6 {
		if !a.IsLinkLocalUnicast() && a != netip.MustParseAddr("fd00::5") {
			all = append(all, a)
		}
	}
	return all, len(own.temporary)
}

// RFC 8981, section 3.6, and RFC 4862, section 5.4: on another link, the addresses, routers and
// servers of the one before are removed, routers are solicited, and the addresses that stay are
// probed for.
func TestAnotherLinkIsLearnedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := lanOf(t, Config{Temporary: true, Addrs: prefixes("fd00::5/64")}, 1, 2)
		servers := wire.AppendServers(nil, &wire.Servers{Lifetime: time.Hour, Addrs: []netip.Addr{netip.MustParseAddr("2001:db8::53")}})
		lan.advertise(1, wire.Advert{Lifetime: time.Hour, HopLimit: 7, Options: wire.AppendMTU(servers, 1400)})
		old, temporary := autoAddrs(lan.s)
		if len(old) != 2 || temporary != 1 || lan.hop() != 1 {
			t.Fatalf("got the addresses %v, %d temporary, and router %d; want two, one temporary, and router 1", old, temporary, lan.hop())
		}
		c := dial(t, lan.s, "udp", "[2001:db8:9::1]:9")
		lan.mu.Lock()
		solicits, reports, probes := lan.solicits, lan.reports, lan.probes[netip.MustParseAddr("fd00::5")]
		lan.mu.Unlock()
		if err := lan.s.LinkChanged("link"); err != nil {
			t.Fatal(err)
		}
		if left, temporary := autoAddrs(lan.s); len(left) != 0 || temporary != 0 || lan.hop() != 0 {
			t.Errorf("got the addresses %v, %d temporary, and router %d; want none", left, temporary, lan.hop())
		}
		if i := lan.s.ifaces[0]; len(lan.s.NameServers()) != 0 || len(lan.s.Neighbours()) != 0 || i.mtu6.Load() != 0 || i.hopLimit.Load() != 0 {
			t.Errorf("got the servers %v, neighbours %v, MTU %d and hop limit %d; want none", lan.s.NameServers(), lan.s.Neighbours(), i.mtu6.Load(), i.hopLimit.Load())
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("writing from an address of the old link: got %v, want EADDRNOTAVAIL", err)
		}
		time.Sleep(3 * time.Second)
		lan.mu.Lock()
		solicits, reports, probes = lan.solicits-solicits, lan.reports-reports, lan.probes[netip.MustParseAddr("fd00::5")]-probes
		lan.mu.Unlock()
		if solicits != 1 || reports == 0 || probes != 1 {
			t.Errorf("got %d router solicitations, %d reports of groups and %d probes for the configured address; want 1, some and 1", solicits, reports, probes)
		}
		lan.prefix = "2001:db8:6::/64"
		lan.advertise(2, wire.Advert{Lifetime: time.Hour})
		now, temporary := autoAddrs(lan.s)
		if len(now) != 2 || temporary != 1 || !strings.HasPrefix(now[0].String(), "2001:db8:6:") || lan.hop() != 2 {
			t.Errorf("got the addresses %v, %d temporary, and router %d; want two in the new network, one temporary, and router 2", now, temporary, lan.hop())
		}
	})
}

// The effects of LinkChanged are bounded: many changes leave as much as one.
func TestManyChangesOfALinkLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lan := lanOf(t, Config{Temporary: true, Addrs: prefixes("fd00::5/64", "10.0.0.5/24")}, 1)
		for range 100 {
			lan.advertise(1, wire.Advert{Lifetime: time.Hour})
			if err := lan.s.LinkChanged(""); err != nil {
				t.Fatal(err)
			}
		}
		lan.advertise(1, wire.Advert{Lifetime: time.Hour})
		i := lan.s.ifaces[0]
		i.mu.Lock()
		defer i.mu.Unlock()
		if n := len(i.claimed); n != 5 || len(i.configured()) != 5 || len(i.ownAddrs.Load().v4) != 1 || len(i.ownAddrs.Load().v6) != 4 {
			t.Errorf("got %d claimed addresses and the configured ones %v, want 5: IPv4, IPv6, link-local, stable and temporary", n, i.configured())
		}
	})
}

func TestLinkChangedNeedsALink(t *testing.T) {
	s := stack(t, Config{})
	if err := s.LinkChanged(""); err == nil {
		t.Error("a stack without a link: got no error, want one")
	}
	a, _ := hosts6(t, RunChain, link.PairConfig{})
	if err := a.LinkChanged("none"); err == nil {
		t.Error("a link that there is not: got no error, want one")
	}
	a.Close()
	if err := a.LinkChanged(""); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed stack: got %v, want net.ErrClosed", err)
	}
}
