package tcpip

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/wire"
)

// listenOn opens a UDP socket for one link.
func listenOn(t *testing.T, s *Stack, name, network, address string) *UDPConn {
	t.Helper()
	u, err := s.ListenPacketOn(name, network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

// A host without an address asks all others for one, from 0.0.0.0, and gets the broadcast answer
// (RFC 1122, section 3.2.1.3 (a); RFC 2131, section 4.1).
func TestAStackWithoutAnAddressBroadcasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		client := stack(t, Config{Link: la})
		server := stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.1/24")})
		c, d := listenOn(t, client, "", "udp4", "0.0.0.0:68"), listenOn(t, server, "link", "udp4", "0.0.0.0:67")
		exchange := func(from, to *UDPConn, port int, text, source string) {
			t.Helper()
			if _, err := from.WriteTo([]byte(text), &net.UDPAddr{IP: net.IPv4bcast, Port: port}); err != nil {
				t.Fatal(err)
			}
			to.SetReadDeadline(time.Now().Add(time.Second)) //nolint:errcheck // it never fails
			got := make([]byte, 100)
			n, by, dst, err := to.ReadMsg(got)
			if string(got[:n]) != text || by.String() != source || dst != limitedBroadcast {
				t.Errorf("got %q from %v to %v (%v), want %q from %s to all", got[:n], by, dst, err, text, source)
			}
		}
		exchange(c, d, 67, "discover", "0.0.0.0:68")
		exchange(d, c, 68, "offer", "10.0.0.1:67")
		if err := client.AddAddr(netip.MustParsePrefix("10.0.0.9/24")); err != nil {
			t.Fatal(err)
		}
		exchange(c, d, 67, "rebind", "10.0.0.9:68")
		if _, err := c.WriteTo([]byte("renew"), &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 67}); err != nil {
			t.Error(err)
		}
		if n, by, err := d.ReadFrom(make([]byte, 100)); n != 5 || by.String() != "10.0.0.9:68" {
			t.Errorf("got %d bytes from %v (%v), want 5 from 10.0.0.9:68", n, by, err)
		}
	})
}

// Without an address, only a broadcast by one link can be sent, and no other datagram.
func TestWithoutAnAddressNothingElseIsSent(t *testing.T) {
	la, _ := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: la})
	bound := listenOn(t, s, "link", "udp4", ":68")
	unbound, err := s.ListenPacket("udp4", ":69")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		by net.PacketConn
		to string
	}{{bound, "10.0.0.1:67"}, {bound, "224.0.0.1:67"}, {unbound, "255.255.255.255:67"}} {
		if _, err := c.by.WriteTo([]byte("x"), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(c.to))); err == nil {
			t.Errorf("sending to %s without an address succeeded, want an error", c.to)
		}
	}
	if _, err := s.ListenPacketOn("eth9", "udp4", ":68"); err == nil {
		t.Error("a socket for a link that does not exist was opened, want an error")
	}
}

// Sockets of two links have the same port, and each receives from its own link.
func TestSocketsOfTwoLinksShareAPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Config{}
		var peers []*Stack
		for n, name := range []string{"a", "b"} {
			near, far := link.Pair(link.PairConfig{})
			s.Interfaces = append(s.Interfaces, Interface{Name: name, Link: near})
			peers = append(peers, stack(t, Config{Link: far, Addrs: prefixes([]string{"10.0.0.1/24", "10.1.0.1/24"}[n])}))
		}
		ours := stack(t, s)
		for n, name := range []string{"a", "b"} {
			u := listenOn(t, ours, name, "udp4", ":68")
			if _, err := ours.ListenPacketOn(name, "udp4", ":68"); err == nil {
				t.Errorf("a second socket at the port of %s was opened, want an error", name)
			}
			p := listenOn(t, peers[n], "", "udp4", ":67")
			if _, err := u.WriteTo([]byte(name), &net.UDPAddr{IP: net.IPv4bcast, Port: 67}); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 9)
			if k, _, err := p.ReadFrom(got); string(got[:k]) != name {
				t.Errorf("the peer of %s got %q (%v), want the link's name", name, got[:k], err)
			}
		}
		if _, err := ours.ListenPacket("udp4", ":68"); err == nil {
			t.Error("a socket for all links was opened at a port that has one, want an error")
		}
	})
}

// An address that another host has is not used, and the error names that host (RFC 5227, section
// 2.1.1). A free one is used after some seconds.
func TestClaimAddrProbesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "fd00::1/64")})
		s := stack(t, Config{Link: lb})
		time.Sleep(3 * time.Second) // until the other host has probed for its own
		for _, p := range prefixes("10.0.0.1/24", "fd00::1/64") {
			err := s.ClaimAddr(t.Context(), "link", p)
			if c, ok := errors.AsType[*ConflictError](err); !ok || c.Addr != p.Addr() || c.By != (wire.MAC{2, 0, 0, 0, 0, 1}) {
				t.Errorf("got error %v, want a conflict over %v", err, p)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		free := netip.MustParsePrefix("10.0.0.2/24")
		if err := s.ClaimAddr(ctx, "link", free); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: got error %v, want that of the context", err)
		}
		if err := s.ClaimAddr(t.Context(), "link", free); err != nil {
			t.Error(err)
		}
		if !slices.Contains(s.Addrs(), free) {
			t.Errorf("the stack has %v, want %v", s.Addrs(), free)
		}
		time.AfterFunc(time.Second, func() { s.RemoveAddr(netip.MustParseAddr("10.0.0.3")) }) //nolint:errcheck // see ClaimAddr
		if err := s.ClaimAddr(t.Context(), "link", netip.MustParsePrefix("10.0.0.3/24")); err == nil || !strings.Contains(err.Error(), "was removed") {
			t.Errorf("removed meanwhile: got error %v, want one that says so", err)
		}
	})
}

// Learned routes and servers hold until they are replaced; configured servers precede them, and
// those of routers follow (RFC 8106, section 5.3.1).
func TestWhatIsLearnedIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := behindRouter(t, link.Ethernet, Config{Addrs: prefixes("10.0.0.2/24")}, time.Hour)
		watched := make(chan struct{}, 10) // Watch -> the test; never closed
		stop := s.Watch(func() { watched <- struct{}{} })
		time.Sleep(3 * time.Second)
		other := r.advert
		other.Other = true
		r.send(routerAddr, allNodes, wire.AppendAdvert(nil, routerAddr, allNodes, &other))
		time.Sleep(time.Second)
		if managed, other := s.RouterFlags("link"); managed || !other || len(watched) == 0 {
			t.Errorf("got the flags M %t and O %t after %d calls, want O alone, after a call", managed, other, len(watched))
		}
		stop()
		a := func(text string) netip.Addr { return netip.MustParseAddr(text) }
		learn := func(protocol string, l Learned) {
			t.Helper()
			if err := s.SetLearned("link", protocol, l); err != nil {
				t.Error(err)
			}
		}
		servers := func(want string) {
			t.Helper()
			var all []string
			for _, x := range s.NameServers() {
				all = append(all, x.Addr().String())
			}
			if got := strings.Join(all, " "); got != want {
				t.Errorf("got the servers %q, want %q", got, want)
			}
		}
		// the router is in no network of the link
		everywhere := ip.Route{To: netip.MustParsePrefix("0.0.0.0/0"), Via: a("192.0.2.1")}
		learn("dhcp", Learned{[]ip.Route{everywhere}, []netip.Addr{a("10.0.0.53"), a("fe80::53")}})
		learn("dhcp6", Learned{Servers: []netip.Addr{a("10.0.0.53"), a("fd00::53")}})
		if _, hop, src, ok := s.routeTo(a("203.0.113.1"), netip.Addr{}); !ok || hop != everywhere.Via || src != a("10.0.0.2") {
			t.Errorf("a packet goes by %v from %v (%t), want by 192.0.2.1", hop, src, ok)
		}
		servers("10.0.0.53 fe80::53%link fd00::53 2001:db8::53")
		s.SetResolver([]netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:53")}) //nolint:errcheck // its result is checked
		servers("10.9.9.9")
		s.SetResolver(nil) //nolint:errcheck // its result is checked
		learn("dhcp", Learned{})
		servers("10.0.0.53 fd00::53 2001:db8::53")
		if _, _, _, ok := s.routeTo(a("203.0.113.1"), netip.Addr{}); ok {
			t.Error("the route that was learned is used after its removal, want none")
		}
		if s.SetLearned("link", "dhcp", Learned{Routes: []ip.Route{{To: everywhere.To, Via: a("fe80::1")}}}) == nil || s.SetLearned("eth9", "dhcp", Learned{}) == nil {
			t.Error("a route by a router of another family, or a link that does not exist, was accepted")
		}
	})
}
