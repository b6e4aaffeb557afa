package dhcp

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/rfc1035label"
)

// leaseOf returns the lease of an offer with changes.
func leaseOf(t *testing.T, change ...dhcpv4.Modifier) (Lease, error) {
	t.Helper()
	s := newScript()
	s.do("start")
	s.do("tick")
	d, err := dhcpv4.FromBytes(s.reply(dhcpv4.MessageTypeOffer, change...))
	if err != nil {
		t.Fatal(err)
	}
	return parseLease(d, epoch, epoch)
}

func TestBadLeasesAreRefused(t *testing.T) {
	you := func(a, b, c, d byte) dhcpv4.Modifier { return dhcpv4.WithYourIP(net.IPv4(a, b, c, d)) }
	server := func(a, b, c, d byte) dhcpv4.Modifier {
		return dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(a, b, c, d)))
	}
	mask := func(b ...byte) dhcpv4.Modifier { return dhcpv4.WithGeneric(dhcpv4.OptionSubnetMask, b) }
	for n, c := range []struct {
		change dhcpv4.Modifier
		want   error
	}{
		{you(0, 0, 0, 0), errAddr}, {you(127, 0, 0, 1), errAddr}, {you(224, 0, 0, 1), errAddr}, {you(255, 255, 255, 255), errAddr},
		{you(10, 0, 0, 0), errAddr}, {you(10, 0, 0, 255), errAddr},
		{server(0, 0, 0, 0), errNoServer}, {server(255, 255, 255, 255), errNoServer}, {dhcpv4.WithoutOption(dhcpv4.OptionServerIdentifier), errNoServer},
		{mask(255, 0, 255, 0), errMask}, {mask(0, 0, 0, 0), errMask}, {mask(255, 255), errMask},
		{dhcpv4.WithLeaseTime(0), errShort}, {dhcpv4.WithLeaseTime(19), errShort}, {dhcpv4.WithoutOption(dhcpv4.OptionIPAddressLeaseTime), errShort},
		{dhcpv4.WithLeaseTime(20), nil}, {mask(255, 255, 255, 255), nil}, {mask(255, 255, 255, 254), nil},
	} {
		if _, err := leaseOf(t, c.change); err != c.want {
			t.Errorf("lease %d: got error %v, want %v", n, err, c.want)
		}
	}
}

// T1 and T2 that do not fit the lease are replaced (RFC 2131, section 4.4.5).
func TestTimesOfALease(t *testing.T) {
	times := func(t1, t2 time.Duration) dhcpv4.Modifier {
		return func(d *dhcpv4.DHCPv4) {
			d.UpdateOption(dhcpv4.OptRenewTimeValue(t1))
			d.UpdateOption(dhcpv4.OptRebindingTimeValue(t2))
		}
	}
	for _, c := range []struct {
		change dhcpv4.Modifier
		want   string
	}{
		{func(*dhcpv4.DHCPv4) {}, "30m0s 52m30s 1h0m0s"},
		{times(time.Minute, time.Hour-time.Second), "1m0s 59m59s 1h0m0s"},
		{times(50*time.Minute, 40*time.Minute), "30m0s 52m30s 1h0m0s"},
		{times(time.Minute, 2*time.Hour), "30m0s 52m30s 1h0m0s"},
		{times(0, time.Minute), "30m0s 52m30s 1h0m0s"},
	} {
		l, err := leaseOf(t, c.change)
		if got := fmt.Sprint(l.RenewAt.Sub(epoch), l.RebindAt.Sub(epoch), l.ExpiresAt.Sub(epoch)); err != nil || got != c.want {
			t.Errorf("got T1, T2 and the end %s (%v), want %s", got, err, c.want)
		}
	}
	if l, err := leaseOf(t, dhcpv4.WithLeaseTime(0xffffffff)); err != nil || !l.ExpiresAt.IsZero() || !l.RenewAt.IsZero() {
		t.Errorf("a lease without an end: got %+v (%v), want no times", l, err)
	}
}

func route(to string, by net.IP) *dhcpv4.Route {
	_, n, err := net.ParseCIDR(to)
	if err != nil {
		panic(err)
	}
	return &dhcpv4.Route{Dest: n, Router: by}
}

// "If the DHCP server returns both a Classless Static Routes option and a Router option, the DHCP
// client MUST ignore the Router option" (RFC 3442).
func TestRoutesOfALease(t *testing.T) {
	many := make([]*dhcpv4.Route, 50)
	for n := range many {
		many[n] = route(fmt.Sprintf("10.%d.0.0/16", n), serverIP)
	}
	for _, c := range []struct {
		change dhcpv4.Modifier
		want   string
	}{
		{func(*dhcpv4.DHCPv4) {}, "[0.0.0.0/0 10.0.0.1]"},
		{dhcpv4.WithRouter(net.IPv4(10, 0, 0, 9), net.IPv4zero, net.IPv4(10, 0, 0, 2)), "[0.0.0.0/0 10.0.0.2]"},
		{dhcpv4.WithoutOption(dhcpv4.OptionRouter), "[]"},
		{dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(route("192.0.2.0/24", net.IPv4(10, 0, 0, 3)), route("10.9.0.0/16", net.IPv4zero), route("224.0.0.0/4", serverIP))), "[192.0.2.0/24 10.0.0.3 10.9.0.0/16 invalid IP]"},
		{dhcpv4.WithGeneric(dhcpv4.OptionClasslessStaticRoute, []byte{33, 1}), "[0.0.0.0/0 10.0.0.1]"},
	} {
		l, err := leaseOf(t, c.change)
		var got []string
		for _, r := range l.Routes {
			got = append(got, r.To.String(), r.Via.String())
		}
		if text := fmt.Sprint(got); err != nil || text != c.want {
			t.Errorf("got the routes %s (%v), want %s", text, err, c.want)
		}
	}
	if l, err := leaseOf(t, dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(many...))); err != nil || len(l.Routes) != 50 {
		t.Errorf("got %d routes (%v), want 50", len(l.Routes), err)
	}
}

func TestOptionsOfALease(t *testing.T) {
	l, err := leaseOf(t, dhcpv4.WithDNS(net.IPv4(10, 0, 0, 53), net.IPv4zero, net.IPv4(10, 0, 0, 53), net.IPv4(10, 0, 0, 54)), dhcpv4.WithOption(dhcpv4.OptDomainName("example.org")),
		dhcpv4.WithOption(dhcpv4.OptDomainSearch(&rfc1035label.Labels{Labels: []string{"example.org", "bad\x1bname", "example.net"}})), dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, binary.BigEndian.AppendUint16(nil, 1400)))
	want := []netip.Addr{netip.MustParseAddr("10.0.0.53"), netip.MustParseAddr("10.0.0.54")}
	if err != nil || !slices.Equal(l.DNS, want) || l.Domain != "example.org" || !slices.Equal(l.Search, []string{"example.org", "example.net"}) || l.MTU != 1400 {
		t.Errorf("got %+v (%v)", l, err)
	}
	l, err = leaseOf(t, dhcpv4.WithOption(dhcpv4.OptDomainName("bad name\n")), dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, []byte{0, 68}), dhcpv4.WithoutOption(dhcpv4.OptionSubnetMask))
	if err != nil || l.Domain != "" || l.MTU != 0 || l.Addr.Bits() != 8 {
		t.Errorf("got the domain %q, MTU %d and network %v (%v), want none, and 10.0.0.9/8", l.Domain, l.MTU, l.Addr, err)
	}
}

// FuzzMachine gives the machine answers in each state: it does not panic, and uses only leases that
// a host can have. Its messages can be read again.
func FuzzMachine(f *testing.F) {
	for _, kind := range []dhcpv4.MessageType{dhcpv4.MessageTypeOffer, dhcpv4.MessageTypeAck, dhcpv4.MessageTypeNak} {
		s := newScript()
		s.do("start")
		s.do("tick")
		f.Add(uint8(kind), s.reply(kind)[236:])
	}
	f.Fuzz(func(t *testing.T, state uint8, options []byte) {
		s := newScript()
		path := slices.Sorted(maps.Values(paths))[int(state)%len(paths)]
		for input := range strings.SplitSeq(path, ",") {
			s.do(input)
		}
		if s.sent == nil {
			return
		}
		s.receive(append(s.reply(dhcpv4.MessageTypeAck)[:236:236], options...), s.now, s)
		if a := s.machine.lease.Addr; a.IsValid() && (a.Addr().IsUnspecified() || a.Addr().IsMulticast() || a.Bits() == 0) {
			t.Errorf("the machine has the lease %v", a)
		}
		if _, err := dhcpv4.FromBytes(s.sent.ToBytes()); err != nil {
			t.Errorf("a message cannot be read: %v", err)
		}
	})
}
