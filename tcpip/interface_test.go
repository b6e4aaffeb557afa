package tcpip

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/tcpip/ip"
	"weir/tcpip/link"
)

var (
	everywhere4 = netip.MustParsePrefix("0.0.0.0/0")
	everywhere6 = netip.MustParsePrefix("::/0")
)

// twoLinks starts a host with the links eth0 and tun1, each with a neighbour that answers for
// 192.0.2.1 and 2001:db8:9::1 too. eth0 carries frames, tun1 packets, of at most 1,400 bytes.
func twoLinks(t *testing.T, metrics ...int) (host *Stack, neighbours [2]*Stack) {
	l0, n0 := link.Pair(link.PairConfig{})
	l1, n1 := link.Pair(link.PairConfig{Medium: link.IP})
	host = stack(t, Config{Interfaces: []Interface{
		{Name: "eth0", Link: l0, Addrs: prefixes("10.0.0.1/24", "2001:db8:0::1/64"), Metric: metrics[0]},
		{Name: "tun1", Link: l1, Addrs: prefixes("10.1.0.1/24", "2001:db8:1::1/64"), Metric: metrics[1], MTU: 1400},
	}, Routes: []ip.Route{
		{To: everywhere4, Via: netip.MustParseAddr("10.0.0.9")},
		{To: everywhere4, Via: netip.MustParseAddr("10.1.0.9")},
		{To: everywhere6, Via: netip.MustParseAddr("fe80::9%eth0")},
		{To: everywhere6, Via: netip.MustParseAddr("fe80::9%tun1")},
	}})
	for n, c := range []Config{
		{Link: n0, Addrs: prefixes("10.0.0.9/24", "192.0.2.1/32", "2001:db8:9::1/128", "fe80::9/64"), Routes: []ip.Route{{To: everywhere4, Via: netip.MustParseAddr("10.0.0.1")}, {To: netip.MustParsePrefix("2001:db8::/32")}}},
		{Link: n1, Addrs: prefixes("10.1.0.9/24", "192.0.2.1/32", "2001:db8:9::1/128", "fe80::9/64"), Routes: []ip.Route{{To: everywhere4, Via: netip.MustParseAddr("10.1.0.1")}, {To: netip.MustParsePrefix("2001:db8::/32")}}},
	} {
		neighbours[n] = stack(t, c)
		name := []string{"on eth0", "on tun1"}[n]
		l, err := neighbours[n].Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		go sayName(l, name) // until its stack closes
	}
	return host, neighbours
}

// sayName answers each connection with a name and its client's address.
func sayName(l net.Listener, name string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		io.WriteString(c, name+" to "+c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().WithZone("").String()) //nolint:errcheck // the test sees it
		c.Close()                                                                                            //nolint:errcheck // nothing can be done
	}
}

func TestALinkIsChosenByDestinationSourceAndMetric(t *testing.T) {
	for _, c := range []struct {
		remote, from string
		metrics      []int
		want         string
	}{
		{"10.0.0.9", "", []int{0, 0}, "on eth0 to 10.0.0.1"},
		{"10.1.0.9", "", []int{0, 0}, "on tun1 to 10.1.0.1"},
		{"192.0.2.1", "", []int{0, 0}, "on eth0 to 10.0.0.1"}, // the first of equal routes
		{"192.0.2.1", "", []int{9, 5}, "on tun1 to 10.1.0.1"},
		{"192.0.2.1", "10.1.0.1", []int{0, 0}, "on tun1 to 10.1.0.1"},
		{"192.0.2.1", "10.0.0.1", []int{9, 5}, "on eth0 to 10.0.0.1"},
		{"2001:db8:9::1", "", []int{9, 5}, "on tun1 to 2001:db8:1::1"},
		{"2001:db8:9::1", "2001:db8:0::1", []int{9, 5}, "on eth0 to 2001:db8::1"},
	} {
		host, _ := twoLinks(t, c.metrics...)
		d := Dialer{Stack: host}
		if c.from != "" {
			d.LocalAddr = netip.AddrPortFrom(netip.MustParseAddr(c.from), 0)
		}
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(c.remote, "80"))
		if err != nil {
			t.Errorf("dial %s from %q with metrics %v: got %v", c.remote, c.from, c.metrics, err)
			continue
		}
		if got, err := io.ReadAll(conn); string(got) != c.want || err != nil {
			t.Errorf("dial %s from %q with metrics %v: got %q, %v; want %q", c.remote, c.from, c.metrics, got, err, c.want)
		}
		conn.Close() //nolint:errcheck // nothing can be done
	}
}

// A link-local address means another host on each link.
func TestAZoneChoosesTheLink(t *testing.T) {
	host, _ := twoLinks(t, 0, 0)
	for zone, want := range map[string]string{"eth0": "on eth0", "tun1": "on tun1", "": "on eth0"} {
		remote := netip.MustParseAddr("fe80::9").WithZone(zone)
		conn, err := host.Dial("tcp", netip.AddrPortFrom(remote, 80).String())
		if err != nil {
			t.Fatalf("dial %v: %v", remote, err)
		}
		defer conn.Close()
		if got, _ := io.ReadAll(conn); !strings.HasPrefix(string(got), want+" to fe80::") {
			t.Errorf("dial %v: got %q, want %q", remote, got, want)
		}
	}
	if _, err := host.Dial("tcp", "[fe80::9%eth7]:80"); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("dial by a link that does not exist: got %v, want ENETUNREACH", err)
	}
}

// An address belongs to its link (RFC 1122, section 3.3.4.2).
func TestAnAddressIsNotReachedByAnotherLink(t *testing.T) {
	host, neighbours := twoLinks(t, 0, 0)
	l, err := host.Listen("tcp", ":81")
	if err != nil {
		t.Fatal(err)
	}
	go sayName(l, "host") // until its stack closes
	answers := func(from *Stack, to string) bool {
		c, err := (&Dialer{Stack: from, LocalAddr: netip.MustParseAddrPort("192.0.2.1:0")}).DialContext(timeoutIn(t, 2*time.Second), "tcp", to)
		if err != nil {
			return false
		}
		defer c.Close()
		got, _ := io.ReadAll(c)
		return string(got) == "host to 192.0.2.1"
	}
	if !answers(neighbours[0], "10.0.0.1:81") || !answers(neighbours[1], "10.1.0.1:81") {
		t.Error("a remote client of each link: the address of the link did not answer by that link")
	}
	before := dropped(host, DropNotOurs)
	if answers(neighbours[0], "10.1.0.1:81") || answers(neighbours[1], "10.0.0.1:81") || dropped(host, DropNotOurs) == before {
		t.Error("the address of one link answered by another")
	}
}

// dropped returns how many packets were dropped for a reason.
func dropped(s *Stack, why Drop) (n uint64) {
	for d, count := range s.Drops() {
		if d == why {
			n = count
		}
	}
	return n
}

func TestEachLinkHasItsOwnMTUAndAddresses(t *testing.T) {
	host, neighbours := twoLinks(t, 0, 0)
	for _, c := range []struct {
		remote string
		mss    int
	}{{"10.0.0.9:80", 1460}, {"10.1.0.9:80", 1360}, {"[2001:db8:9::1]:80", 1440}} {
		conn, err := host.Dial("tcp", c.remote)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got := connInfo(host, conn).MSS; got > c.mss || got < c.mss-12 {
			t.Errorf("a connection to %s has an MSS of %d, want %d, less at most 12 for options", c.remote, got, c.mss)
		}
	}
	if err := host.AddAddrOn("tun1", netip.MustParsePrefix("10.7.0.1/24")); err != nil {
		t.Fatal(err)
	}
	if err := neighbours[1].AddAddr(netip.MustParsePrefix("10.7.0.9/24")); err != nil {
		t.Fatal(err)
	}
	conn, err := host.Dial("tcp", "10.7.0.9:80")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, _ := io.ReadAll(conn); string(got) != "on tun1 to 10.7.0.1" {
		t.Errorf("a connection from the added address: got %q, want that of tun1", got)
	}
	if err := host.AddAddrOn("eth7", netip.MustParsePrefix("10.8.0.1/24")); err == nil || !strings.Contains(err.Error(), `no link has the name "eth7"`) {
		t.Errorf("an address on a link that does not exist: got %v", err)
	}
	if err := host.AddAddrOn("", netip.MustParsePrefix("10.6.0.1/24")); err != nil || !slices.Contains(host.Interfaces()[0].Addrs, netip.MustParsePrefix("10.6.0.1/24")) {
		t.Errorf("an address on the link \"\": got %v and the addresses %v, want it on the first", err, host.Interfaces()[0].Addrs)
	}
	if got := host.Interfaces(); len(got) != 3 || got[0].Name != "eth0" || got[1].Name != "tun1" || got[2].Name != "lo" || got[1].Caps.MTU != 1400 {
		t.Errorf("got the interfaces %+v, want eth0, tun1 with an MTU of 1400, lo", got)
	}
}

func TestInvalidInterfacesAreRejected(t *testing.T) {
	one, _ := link.Pair(link.PairConfig{})
	two, _ := link.Pair(link.PairConfig{})
	eth := func(name string, l link.Link, addr string) Interface {
		return Interface{Name: name, Link: l, Addrs: prefixes(addr)}
	}
	small := eth("b", two, "10.1.0.1/24")
	small.MTU = 40
	six := eth("b", two, "fd00::1/64")
	six.MTU = 1279
	for want, c := range map[string]Config{
		"IPv6 needs 1,280":       {Interfaces: []Interface{six}},
		`the name ""`:            {Interfaces: []Interface{eth("", one, "10.0.0.1/24")}},
		`the name "lo"`:          {Interfaces: []Interface{eth("lo", one, "10.0.0.1/24")}},
		`the name "a%b"`:         {Interfaces: []Interface{eth("a%b", one, "10.0.0.1/24")}},
		`the name "a"`:           {Interfaces: []Interface{eth("a", one, "10.0.0.1/24"), eth("a", two, "10.1.0.1/24")}},
		`the name "link"`:        {Link: one, Addrs: prefixes("10.0.0.1/24"), Interfaces: []Interface{eth("link", two, "10.1.0.1/24")}},
		"has no Link":            {Interfaces: []Interface{eth("a", nil, "10.0.0.1/24")}},
		"10.0.0.1/24 twice":      {Interfaces: []Interface{eth("a", one, "10.0.0.1/24"), eth("b", two, "10.0.0.1/24")}},
		"the interface b has no": {Interfaces: []Interface{eth("a", one, "10.0.0.1/24"), {Name: "b"}}},
		"has MTU 40":             {Interfaces: []Interface{eth("a", one, "10.0.0.1/24"), small}},
		"by link 5":              {Interfaces: []Interface{eth("a", one, "10.0.0.1/24")}, Routes: []ip.Route{{To: everywhere4, Link: 5}}},
		"is not on the link":     {Interfaces: []Interface{eth("a", one, "10.0.0.1/24")}, Routes: []ip.Route{{To: everywhere6, Via: netip.MustParseAddr("fe80::1%b")}}},
	} {
		if s, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			if err == nil {
				s.Close() //nolint:errcheck // the test has failed
			}
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
}

// connInfo returns what the stack reports of a connection.
func connInfo(s *Stack, c net.Conn) ConnInfo {
	for _, i := range s.Connections() {
		if i.Local == c.LocalAddr().(*net.TCPAddr).AddrPort() {
			return i
		}
	}
	return ConnInfo{}
}

// timeoutIn returns the test's context with a timeout.
func timeoutIn(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
