package tcpip

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/ndp"
	"weir/tcpip/tcp"
	"weir/wire"
)

const day = 24 * time.Hour

// advertise has the first link of a stack receive an advertisement of a prefix, as from a router.
func advertise(s *Stack, prefix string, preferred, valid time.Duration) {
	p := wire.Prefix{Prefix: netip.MustParsePrefix(prefix), OnLink: true, Autonomous: true, Valid: valid, Preferred: preferred}
	i := s.ifaces[0]
	i.mu.Lock()
	i.auto.host.Receive(routerAddr, &wire.Advert{Options: wire.AppendPrefix(nil, &p)}, ndp.Time(s.now()))
	i.auto.pending = true
	i.readers[0].requestCheck()
	i.mu.Unlock()
}

// dialEcho opens a connection to an echo server and reports its local address.
func dialEcho(t *testing.T, s *Stack, to string) (net.Conn, netip.Addr) {
	t.Helper()
	c := dial(t, s, "tcp", to)
	return c, netip.MustParseAddrPort(c.LocalAddr().String()).Addr()
}

// answers reports whether an echo server answers on a connection.
func answers(c net.Conn) error {
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

// temporaries returns a client with temporary addresses in 2001:db8:5::/64, and its stable address.
// An echo server on the other end of the link is 2001:db8:5::1.
func temporaries(t *testing.T) (client *Stack, stable netip.Addr) {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{})
	quiet := tcp.Config{KeepAliveIdle: -1} // weeks of probes take long
	client = stack(t, Config{Link: la, Autoconf: true, Temporary: true, TCP: quiet})
	server := stack(t, Config{Link: lb, Addrs: prefixes("2001:db8:5::1/64"), TCP: quiet})
	for _, s := range []*Stack{client, server} {
		l := listen(t, s, ":7")
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					io.Copy(c, c) //nolint:errcheck // the client checks
					c.Close()
				}()
			}
		}()
	}
	advertise(client, "2001:db8:5::/64", 60*day, 90*day)
	time.Sleep(2 * time.Second)
	client.configMu.Lock()
	defer client.configMu.Unlock()
	return client, client.ifaces[0].auto.applied.Addrs[0].Addr
}

// RFC 8981, sections 1.2 and 3.5, and RFC 6724, section 5, rule 7: connections that the stack opens
// have a temporary address, another each day. One that exists keeps its address while that is
// deprecated, and ends with it. Servers are reached by the stable address all the time.
func TestTemporaryAddressesAreForNewConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, stable := temporaries(t)
		kept, first := dialEcho(t, client, "[2001:db8:5::1]:7")
		if first == stable || !netip.MustParsePrefix("2001:db8:5::/64").Contains(first) {
			t.Fatalf("got the local address %v, want a temporary one, not %v", first, stable)
		}
		seen := map[netip.Addr]bool{}
		for n := range 21 * 4 {
			c, local := dialEcho(t, client, "[2001:db8:5::1]:7")
			seen[local] = true
			if err := answers(c); err != nil || local == stable {
				t.Errorf("after %d hours: got the local address %v, error %v; want a temporary one", 6*n, local, err)
			}
			c.Close()
			own := client.ifaces[0].ownAddrs.Load()
			if len(own.temporary) > 4 {
				t.Errorf("after %d hours: got %d temporary addresses, want at most 4", 6*n, len(own.temporary))
			}
			deprecated := slices.Contains(own.deprecated, first)
			switch err := answers(kept); {
			case n < 8 && err != nil:
				t.Errorf("after %d hours: the first connection has the error %v, want none while its address is valid", 6*n, err)
			case n == 4 && !deprecated:
				t.Error("after a day: the first address is preferred, want it deprecated")
			case n > 8 && !errors.Is(err, syscall.ECONNABORTED) && !errors.Is(err, net.ErrClosed):
				t.Errorf("after %d hours: the first connection has the error %v, want that its address has ended", 6*n, err)
			}
			time.Sleep(6 * time.Hour)
		}
		if n := len(seen); n < 20 || n > 36 {
			t.Errorf("got %d addresses in three weeks, want one for each 0.6 to 1 day", n)
		}
	})
}

// A server of the stack has its stable address, and answers from it.
func TestServersKeepTheirStableAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, stable := temporaries(t)
		for range 10 {
			c, _ := dialEcho(t, client, netip.AddrPortFrom(stable, 7).String())
			if err := answers(c); err != nil {
				t.Errorf("to the stable address: got the error %v, want none", err)
			}
			c.Close()
			time.Sleep(day)
		}
	})
}

// RFC 8981, section 3.4, step 7: another host that has the address makes the stack choose the next.
func TestDuplicateTemporaryAddressesAreNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		defer lb.Close()
		lost := make(chan Conflict, 8) // OnConflict -> the test; never closed
		s := stack(t, Config{Link: la, Autoconf: true, Temporary: true, OnConflict: func(c Conflict) { lost <- c }})
		r := &testRouter{link: lb, got: make(chan wire.IPv6, 10)}
		advertise(s, "2001:db8:5::/64", day, 2*day)
		time.Sleep(10 * time.Millisecond) // the address is in use, and being probed (RFC 4429)
		for n := range 3 {
			temps := s.ifaces[0].ownAddrs.Load().temporary
			if len(temps) != 1 {
				t.Fatalf("after %d duplicates: got the temporary addresses %v, want one", n, temps)
			}
			r.send(routerAddr, allNodes, wire.AppendNeighbour(nil, routerAddr, allNodes, wire.NeighbourAdvert,
				&wire.Neighbour{Target: temps[0], Override: true, Options: wire.AppendLinkAddr(nil, wire.TargetLinkAddr, routerMAC)}))
			if c := <-lost; c.Addr != temps[0] || !c.Lost {
				t.Errorf("got the conflict %+v, want %v lost", c, temps[0])
			}
			time.Sleep(10 * time.Millisecond)
		}
		if own := s.ifaces[0].ownAddrs.Load(); len(own.temporary) != 0 || len(own.v6) != 2 {
			t.Errorf("after three duplicates: got the addresses %v, want the link-local and the stable one", own.v6)
		}
	})
}

// RFC 6724, section 5: rules 3 and 6 come before rule 7, and rule 8 after it.
func TestTemporarySourcesArePreferred(t *testing.T) {
	for _, c := range []struct{ own, temporary, deprecated, dst, want string }{
		{"2001:db8:1::1 2001:db8:1::2", "2001:db8:1::2", "", "2001:db8:9::1", "2001:db8:1::2"},
		{"2001:db8:1::1 2001:db8:2::2", "2001:db8:2::2", "", "2001:db8:1::9", "2001:db8:2::2"},
		{"2001:db8:1::1 2001:db8:1::2", "2001:db8:1::2", "2001:db8:1::2", "2001:db8:9::1", "2001:db8:1::1"},
		{"2001:db8:1::1 fd00::2", "fd00::2", "", "2001:db8:9::1", "2001:db8:1::1"},
		{"2001:db8:1::1 2002:1::1", "", "", "2002:9::1", "2002:1::1"},
		{"2001:db8:1::1 2001:db8:1::2", "2001:db8:1::2", "", "2001:db8:1::1", "2001:db8:1::1"},
	} {
		var a addresses
		for list, text := range map[*[]netip.Addr]string{&a.v6: c.own, &a.temporary: c.temporary, &a.deprecated: c.deprecated} {
			for _, own := range strings.Fields(text) {
				*list = append(*list, netip.MustParseAddr(own))
			}
		}
		for range 2 { // the order of the addresses does not matter
			if got := a.sourceFor6(netip.MustParseAddr(c.dst)); got.String() != c.want {
				t.Errorf("%+v: got the source %v", c, got)
			}
			slices.Reverse(a.v6)
		}
	}
}

// RFC 6724, section 6, rule 3: a destination whose source is deprecated is tried last.
func TestDestinationsOfDeprecatedSourcesAreLast(t *testing.T) {
	la, _ := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: la, Addrs: prefixes("2001:db8:1::2/64", "2001:db8:2::2/64")})
	for _, deprecated := range []string{"2001:db8:1::2", "2001:db8:2::2"} {
		i := s.ifaces[0]
		i.mu.Lock()
		i.deprecated = []netip.Addr{netip.MustParseAddr(deprecated)}
		i.updateOwnAddrs()
		i.mu.Unlock()
		all := []netip.Addr{netip.MustParseAddr("2001:db8:1::9"), netip.MustParseAddr("2001:db8:2::9")}
		for range 2 { // the order of the destinations does not matter
			slices.Reverse(all)
			s.sortDestinations(all)
			if netip.PrefixFrom(all[0], 64).Contains(i.deprecated[0]) {
				t.Errorf("with %s deprecated: got the order %v, want the other network first", deprecated, all)
			}
		}
	}
}

func TestTemporaryLifetimesAreChecked(t *testing.T) {
	la, _ := link.Pair(link.PairConfig{})
	if _, err := New(Config{Link: la, Autoconf: true, Temporary: true, TempLifetimes: ndp.TempLifetimes{Preferred: 3 * day}}); err == nil {
		t.Error("got a stack with addresses that are preferred for longer than they are valid, want an error")
	}
}
