package tcpip

import (
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"weir/tcpip/ip"
	"weir/tcpip/link"
)

func TestLocalBroadcastAndMartianAddressesAreClassified(t *testing.T) {
	la, _ := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "10.0.0.2/24", "192.0.2.9/31", "198.51.100.7/32")})
	for _, c := range []struct {
		addr                        string
		accepts, broadcast, martian bool
	}{
		{"10.0.0.1", true, false, true},
		{"10.0.0.2", true, false, true},
		{"10.0.0.3", false, false, false},
		{"10.0.0.255", true, true, true},
		{"255.255.255.255", true, true, true},
		{"192.0.2.9", true, false, true},
		{"192.0.2.8", false, false, false}, // a /31 network has no broadcast address
		{"198.51.100.7", true, false, true},
		{"127.0.0.1", false, false, true}, // not on this interface
		{"0.0.0.0", false, false, true},
		{"224.0.0.1", true, true, true}, // all hosts belong to it
		{"224.0.0.2", false, true, true},
		{"240.0.0.1", false, false, true},
		{"203.0.113.5", false, false, false},
	} {
		a := addrToUint32(netip.MustParseAddr(c.addr))
		if accepts, broadcast := s.ifaces[0].acceptsDst(a); accepts != c.accepts || broadcast != c.broadcast {
			t.Errorf("%s: accepted %t, broadcast %t, want %t, %t", c.addr, accepts, broadcast, c.accepts, c.broadcast)
		}
		if got := s.ifaces[0].martianSource(a); got != c.martian {
			t.Errorf("%s as a source: martian %t, want %t", c.addr, got, c.martian)
		}
	}
}

// The source address is that of the route, or the one in the neighbour's network.
func TestSourcesAreSelectedByRoute(t *testing.T) {
	la, lb := link.Pair(link.PairConfig{})
	a := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "10.1.0.1/16", "10.0.0.5/24"), Routes: []ip.Route{
		{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.1.0.9")},
		{To: netip.MustParsePrefix("203.0.113.0/24"), Via: netip.MustParseAddr("10.0.0.9"), Src: netip.MustParseAddr("10.0.0.5")},
		{To: netip.MustParsePrefix("198.51.100.0/24")},
	}})
	b := stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.9/24", "10.1.0.9/16", "203.0.113.1/24", "192.0.2.1/24", "198.51.100.1/24")})
	for dst, want := range map[string]string{"10.0.0.9": "10.0.0.1", "10.1.0.9": "10.1.0.1", "203.0.113.1": "10.0.0.5", "192.0.2.1": "10.1.0.1", "198.51.100.1": "10.0.0.1", "10.0.0.5": "10.0.0.5"} {
		if c := dial(t, a, "udp", dst+":9"); !strings.HasPrefix(c.LocalAddr().String(), want+":") {
			t.Errorf("the source for %s is %v, want %s", dst, c.LocalAddr(), want)
		}
	}
	l, err := b.ListenPacket("udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, dst := range []string{"10.0.0.9:53", "203.0.113.1:53"} { // the answers arrive too
		c := dial(t, a, "udp", dst)
		c.Write([]byte("x")) //nolint:errcheck // the test checks what arrives
		p := make([]byte, 10)
		if _, from, err := l.ReadFrom(p); err != nil || from.String() != c.LocalAddr().String() {
			t.Errorf("a datagram to %s: got the source %v, error %v; want the source that its route selects, %v", dst, from, err, c.LocalAddr())
		}
	}
}

func TestInvalidAddressesAndRoutesAreRejected(t *testing.T) {
	for _, c := range []struct {
		say    string
		addrs  []netip.Prefix
		routes []ip.Route
	}{
		{"10.0.0.255/24", prefixes("10.0.0.255/24"), nil},
		{"10.0.0.0/24", prefixes("10.0.0.0/24"), nil},
		{"127.0.0.2/8", prefixes("127.0.0.2/8"), nil},
		{"240.0.0.1/24", prefixes("240.0.0.1/24"), nil},
		{"2001:db8::/64", prefixes("2001:db8::/64"), nil},
		{"ff02::1/64", prefixes("ff02::1/64"), nil},
		{"::1/64", prefixes("::1/64"), nil},
		{"10.0.0.1/24 twice", prefixes("10.0.0.1/24", "10.0.0.1/24"), nil},
		{"by 10.9.0.1", prefixes("10.0.0.1/24"), []ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.9.0.1")}}},
		{"by 10.0.0.1", prefixes("10.0.0.1/24"), []ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.0.0.1")}}},
		{"from 10.0.0.7", prefixes("10.0.0.1/24"), []ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.0.0.9"), Src: netip.MustParseAddr("10.0.0.7")}}},
		{"mixes IPv4 and IPv6", prefixes("10.0.0.1/24"), []ip.Route{{To: netip.MustParsePrefix("::/0"), Via: netip.MustParseAddr("10.0.0.9")}}},
	} {
		la, _ := link.Pair(link.PairConfig{})
		if s, err := New(Config{Link: la, Addrs: c.addrs, Routes: c.routes}); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("got error %v, want one that says %q", err, c.say)
			if s != nil {
				s.Close()
			}
		}
	}
	la, _ := link.Pair(link.PairConfig{}) // a router that is itself behind a router
	s, err := New(Config{Link: la, Addrs: prefixes("10.0.0.1/32"), Routes: []ip.Route{{To: netip.MustParsePrefix("10.9.0.1/32")}, {To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.9.0.1")}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// A listener at [::] has IPv4 connections too, and an IPv4-mapped address means IPv4.
func TestMappedAddressesAreThoseOfIPv4(t *testing.T) {
	s := stack(t, Config{})
	for _, host := range []string{"[::]", "[::ffff:127.0.0.1]"} {
		l, err := s.Listen("tcp", host+":80")
		if err != nil {
			t.Fatal(err)
		}
		dial(t, s, "tcp", "127.0.0.1:80")
		l.Close()
	}
	u, err := s.ListenPacket("udp", "[::]:0")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if _, err := u.(*UDPConn).WriteMsg([]byte("x"), netip.MustParseAddrPort("127.0.0.1:9"), netip.IPv6Loopback()); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("sending to IPv4 from the IPv6 loopback: got %v, want an error", err)
	}
}
