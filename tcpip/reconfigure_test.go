package tcpip

import (
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/ip"
	"weir/tcpip/link"
)

// An address that is added is used at once, and one that is removed is not.
func TestAddressesComeAndGo(t *testing.T) {
	for _, c := range []struct{ medium link.Medium }{{link.Ethernet}, {link.IP}} {
		synctest.Test(t, func(t *testing.T) {
			la, lb := link.Pair(link.PairConfig{Medium: c.medium})
			a := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "fd00::1/64")})
			b := stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
			for _, p := range prefixes("10.0.0.3/24", "fd00::3/64", "192.0.2.3/24") {
				if err := b.AddAddr(p); err != nil {
					t.Fatal(err)
				}
			}
			for _, to := range []string{"10.0.0.3", "fd00::3"} {
				if _, err := a.Ping(t.Context(), netip.MustParseAddr(to), 8); err != nil {
					t.Errorf("pinging %s, which was added: got error %v, want a reply", to, err)
				}
				l := listen(t, b, ":80")
				conn := dial(t, a, "tcp", netip.AddrPortFrom(netip.MustParseAddr(to), 80).String())
				accepted, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				if err := b.RemoveAddr(netip.MustParseAddr(to)); err != nil {
					t.Fatal(err)
				}
				if _, err := accepted.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNABORTED) {
					t.Errorf("reading from a connection of the removed address: got %v, want ECONNABORTED", err)
				}
				if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the other end: got %v, want ECONNRESET", err)
				}
				accepted.Close()
				l.Close()
				if _, err := b.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr(to), 80).String()); !errors.Is(err, syscall.EADDRNOTAVAIL) {
					t.Errorf("listening at the removed address: got %v, want EADDRNOTAVAIL", err)
				}
			}
		})
	}
}

func TestInvalidChangesChangeNothing(t *testing.T) {
	la, _ := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")})
	time.Sleep(time.Millisecond)
	before := s.Addrs()
	for say, err := range map[string]error{
		"already":       s.AddAddr(netip.MustParsePrefix("10.0.0.1/24")),
		"224.0.0.1/24":  s.AddAddr(netip.MustParsePrefix("224.0.0.1/24")),
		"does not have": s.RemoveAddr(netip.MustParseAddr("10.0.0.9")),
		"by 192.0.2.1":  s.SetRoutes([]ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.0.2.1")}}),
		"Resolver has":  s.SetResolver([]netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:53")}),
		"has no link":   stack(t, Config{}).AddAddr(netip.MustParsePrefix("10.0.0.1/24")),
	} {
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("got error %v, want one that says %q", err, say)
		}
	}
	if after := s.Addrs(); len(after) != len(before) {
		t.Errorf("the stack has the addresses %v, want %v", after, before)
	}
}

// A route is unused while its router is no neighbour, and used again when it is one.
func TestRoutesFollowTheAddresses(t *testing.T) {
	la, _ := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "10.1.0.1/24"), Routes: []ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.1.0.9")}}})
	reaches := func(want bool) {
		t.Helper()
		if _, _, _, ok := s.routeTo(netip.MustParseAddr("192.0.2.1"), netip.Addr{}); ok != want {
			t.Errorf("a packet has a route by the router: %t, want %t", ok, want)
		}
	}
	reaches(true)
	if err := s.RemoveAddr(netip.MustParseAddr("10.1.0.1")); err != nil {
		t.Fatal(err)
	}
	reaches(false)
	if err := s.AddAddr(netip.MustParsePrefix("10.1.0.1/24")); err != nil {
		t.Fatal(err)
	}
	reaches(true)
	if err := s.SetRoutes(nil); err != nil {
		t.Fatal(err)
	}
	reaches(false)
}
