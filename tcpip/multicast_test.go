package tcpip

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
)

// group4 and group6 are groups of the tests.
var (
	group4 = netip.MustParseAddr("239.1.2.3")
	group6 = netip.MustParseAddr("ff12::1234")
)

// groupAddr is the address of a group for package net.
func groupAddr(a netip.Addr, port uint16) *net.UDPAddr {
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, port))
}

// listenGroup opens a socket of ListenMulticastUDP until the test ends.
func listenGroup(t testing.TB, s *Stack, link string, group netip.Addr, port uint16) *UDPConn {
	t.Helper()
	u, err := s.ListenMulticastUDP("udp", link, groupAddr(group, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

// sender opens a socket at all addresses until the test ends.
func sender(t testing.TB, s *Stack) *UDPConn {
	t.Helper()
	c, err := s.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*UDPConn)
}

// sendToGroup sends a datagram.
func sendToGroup(t testing.TB, u *UDPConn, payload string, group netip.Addr, port uint16) {
	t.Helper()
	if _, err := u.WriteTo([]byte(payload), groupAddr(group, port)); err != nil {
		t.Fatal(err)
	}
}

// received returns the datagrams that have arrived at a socket, in virtual time.
func received(t testing.TB, u *UDPConn) (all []string) {
	t.Helper()
	synctest.Wait()
	u.SetReadDeadline(time.Now().Add(time.Millisecond))
	for p := make([]byte, 70_000); ; {
		n, err := u.Read(p)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(p[:n]))
	}
}

// wantReceived fails unless a socket has received these datagrams.
func wantReceived(t testing.TB, what string, u *UDPConn, want ...string) {
	t.Helper()
	if got := received(t, u); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// twoHosts returns two stacks with addresses of both families.
func twoHosts(t testing.TB, run Run) (a, b *Stack) {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{})
	return stack(t, Config{Run: run, Link: la, Addrs: prefixes("10.0.0.1/24", "2001:db8::1/64")}), stack(t, Config{Run: run, Link: lb, Addrs: prefixes("10.0.0.2/24", "2001:db8::2/64")})
}

// A socket receives datagrams for the groups that it has joined, and for no others (RFC 1112,
// section 7.1).
func TestMembersReceiveDatagramsForTheirGroup(t *testing.T) {
	ways(t, testMembersReceiveDatagramsForTheirGroup)
}

func testMembersReceiveDatagramsForTheirGroup(t *testing.T, run Run) {
	for _, group := range []netip.Addr{group4, group6} {
		synctest.Test(t, func(t *testing.T) {
			a, b := twoHosts(t, run)
			from := sender(t, a)
			first, second := listenGroup(t, b, "", group, 5000), listenGroup(t, b, "link", group, 5000)
			other := listenGroup(t, b, "", group.Next(), 5000)
			sendToGroup(t, from, "hello", group, 5000)
			sendToGroup(t, from, "another port", group, 5001)
			wantReceived(t, "the first member", first, "hello")
			wantReceived(t, "the second member", second, "hello")
			wantReceived(t, "a member of another group", other)
			if err := first.LeaveGroup("", group); err != nil {
				t.Fatal(err)
			}
			sendToGroup(t, from, "again", group, 5000)
			wantReceived(t, "a socket that has left", first)
			if got, want := b.Groups(), []GroupInfo{{"link", group, 1}, {"link", group.Next(), 1}}; !slices.Equal(got, want) {
				t.Errorf("got the groups %+v, want %+v", got, want)
			}
			wantReceived(t, "the second member", second, "again")
			second.Close()
			sendToGroup(t, from, "unread", group, 5000)
			synctest.Wait()
			if b.ifaces[0].hasGroup(group) {
				t.Error("the interface has the group, want it left with its last member")
			}
		})
	}
}

// Datagrams of all sizes are for all members, in fragments too.
func TestDatagramsForGroupsAreFragmented(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoHosts(t, RunChain)
		for _, group := range []netip.Addr{group4, group6} {
			u := listenGroup(t, b, "", group, 5000)
			own := listenGroup(t, a, "", group, 5000)
			long := string(make([]byte, 65507))
			sendToGroup(t, sender(t, a), long, group, 5000)
			wantReceived(t, "the other host", u, long)
			wantReceived(t, "the sender's host", own, long)
		}
	})
}

// A socket's datagrams are also for the members of its own host, unless the loop is off.
func TestDatagramsForGroupsLoop(t *testing.T) { ways(t, testDatagramsForGroupsLoop) }

func testDatagramsForGroupsLoop(t *testing.T, run Run) {
	for _, group := range []netip.Addr{group4, group6, netip.MustParseAddr("ff02::1234"), netip.MustParseAddr("224.0.0.251")} {
		synctest.Test(t, func(t *testing.T) {
			a, b := twoHosts(t, run)
			member, far, lo := listenGroup(t, a, "", group, 5000), listenGroup(t, b, "", group, 5000), listenGroup(t, a, "lo", group, 5000)
			from := sender(t, a)
			sendToGroup(t, from, "both", group, 5000)
			from.SetMulticastLoop(false)
			sendToGroup(t, from, "the link", group, 5000)
			from.SetMulticastLoop(true)
			from.SetMulticastTTL(0)
			sendToGroup(t, from, "the host", group, 5000)
			sendToGroup(t, member, "from a socket that does not loop", group, 5000)
			wantReceived(t, "a member of the host", member, "both", "the host")
			wantReceived(t, "a member of another host", far, "both", "the link", "from a socket that does not loop")
			wantReceived(t, "a member on the loopback", lo)
			if err := from.SetMulticastInterface("lo"); err != nil {
				t.Fatal(err)
			}
			for _, hops := range []uint8{0, 1} {
				from.SetMulticastTTL(hops)
				sendToGroup(t, from, "the loopback", group.WithZone(""), 5000)
			}
			wantReceived(t, "a member on the loopback", lo, "the loopback", "the loopback")
			wantReceived(t, "a member on the link", member)
		})
	}
}

// The sender of a copy that has looped is the address that others see, with its zone.
func TestALoopedCopyHasItsLinksAddress(t *testing.T) {
	a, _ := twoHosts(t, RunChain)
	group := netip.MustParseAddr("ff02::1234%link")
	u := listenGroup(t, a, "", group, 5000)
	sendToGroup(t, sender(t, a), "x", group, 5000)
	u.SetReadDeadline(time.Now().Add(waitForPeer))
	_, from, to, err := u.ReadMsg(make([]byte, 1))
	if err != nil || from.Addr().Zone() != "link" || !from.Addr().IsLinkLocalUnicast() || to != group {
		t.Errorf("got a datagram from %v to %v, %v; want it from a link-local address to %v", from, to, err, group)
	}
}

// Filters admit sources, or exclude them (RFC 3376, section 3.2).
func TestSourceFiltersAreApplied(t *testing.T) {
	for _, c := range []struct {
		group  netip.Addr
		source string
	}{{group4, "10.0.0.1"}, {group6, "2001:db8::1"}} {
		synctest.Test(t, func(t *testing.T) {
			a, b := twoHosts(t, RunChain)
			from, u := sender(t, a), listenGroup(t, b, "", c.group, 5000)
			set := func(exclude bool, sources ...string) {
				t.Helper()
				var all []netip.Addr
				for _, s := range sources {
					all = append(all, netip.MustParseAddr(s))
				}
				if err := u.SetSourceFilter("", c.group, exclude, all); err != nil {
					t.Fatal(err)
				}
			}
			send := func() {
				t.Helper()
				src := netip.MustParseAddr(c.source)
				if _, err := from.WriteMsg([]byte("x"), netip.AddrPortFrom(c.group, 5000), src); err != nil {
					t.Fatal(err)
				}
			}
			set(true, c.source)
			send()
			wantReceived(t, "excluding the source", u)
			set(false, c.source)
			send()
			wantReceived(t, "including the source", u, "x")
			set(false, netip.MustParseAddr(c.source).Next().String())
			send()
			wantReceived(t, "including another source", u)
			set(false)
			if err := u.LeaveGroup("", c.group); !errors.Is(err, syscall.EADDRNOTAVAIL) {
				t.Errorf("leaving after the last source: got %v, want EADDRNOTAVAIL", err)
			}
		})
	}
}

func TestInvalidMembershipsAreRefused(t *testing.T) {
	a, _ := twoHosts(t, RunChain)
	u := listenGroup(t, a, "", group4, 5000)
	bound, err := a.ListenPacket("udp", "10.0.0.1:5001")
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	closed := listenGroup(t, a, "", group4, 5000)
	closed.Close()
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"joining twice", u.JoinGroup("", group4), syscall.EADDRINUSE},
		{"leaving what was not joined", u.LeaveGroup("", group4.Next()), syscall.EADDRNOTAVAIL},
		{"an address of a host", u.JoinGroup("", netip.MustParseAddr("10.0.0.9")), syscall.EINVAL},
		{"another family", u.JoinGroup("", group6), syscall.EAFNOSUPPORT},
		{"a zone that is not the link's", sender(t, a).JoinGroup("lo", netip.MustParseAddr("ff02::5%link")), syscall.EINVAL},
		{"a socket at an address of a host", bound.(*UDPConn).JoinGroup("", group4), syscall.EOPNOTSUPP},
		{"a closed socket", closed.JoinGroup("", group4), net.ErrClosed},
		{"a source that is a group", u.SetSourceFilter("", group4, true, []netip.Addr{group4}), syscall.EINVAL},
		{"too many sources", u.SetSourceFilter("", group4, true, manySources(65)), syscall.ENOBUFS},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, c.err, c.want)
		}
	}
	var unknown *net.AddrError
	if err := u.JoinGroup("nolink", group4.Next()); !errors.As(err, &unknown) {
		t.Errorf("a link that does not exist: got %v, want a *net.AddrError", err)
	}
	if _, err := a.ListenMulticastUDP("udp", "", groupAddr(stackAddr, 1)); !errors.As(err, &unknown) {
		t.Errorf("listening at an address that is no group: got %v, want a *net.AddrError", err)
	}
}

// manySources returns so many addresses of hosts.
func manySources(n int) (all []netip.Addr) {
	for a := netip.MustParseAddr("10.9.0.1"); len(all) < n; a = a.Next() {
		all = append(all, a)
	}
	return all
}

// With several links, a membership and a datagram are for one of them.
func TestGroupsAreJoinedOnALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		lc, ld := link.Pair(link.PairConfig{})
		s := stack(t, Config{Interfaces: []Interface{{Name: "one", Link: la, Addrs: prefixes("10.0.1.1/24", "2001:db8:1::1/64")}, {Name: "two", Link: lc, Addrs: prefixes("10.0.2.1/24", "2001:db8:2::1/64")}}})
		one := stack(t, Config{Link: lb, Addrs: prefixes("10.0.1.2/24", "2001:db8:1::2/64")})
		two := stack(t, Config{Link: ld, Addrs: prefixes("10.0.2.2/24", "2001:db8:2::2/64")})
		for _, group := range []netip.Addr{group4, group6} {
			u := listenGroup(t, s, "two", group, 5000)
			sendToGroup(t, sender(t, one), "one", group, 5000)
			sendToGroup(t, sender(t, two), "two", group, 5000)
			wantReceived(t, "a member on the second link", u, "two")
			atOne, atTwo := listenGroup(t, one, "", group, 5000), listenGroup(t, two, "", group, 5000)
			from := sender(t, s)
			sendToGroup(t, from, "by default", group, 5000)
			if err := from.SetMulticastInterface("two"); err != nil {
				t.Fatal(err)
			}
			sendToGroup(t, from, "by the second", group, 5000)
			wantReceived(t, "the host on the first link", atOne, "by default")
			wantReceived(t, "the host on the second link", atTwo, "by the second")
			if err := from.SetMulticastInterface("nolink"); err == nil {
				t.Error("got a link that does not exist, want an error")
			}
		}
	})
}
