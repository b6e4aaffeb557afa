package tcpip

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
)

// hosts6 returns two stacks with a link between them, and IPv6 addresses only.
func hosts6(t testing.TB, run Run, c link.PairConfig) (a, b *Stack) {
	t.Helper()
	la, lb := link.Pair(c)
	return stack(t, Config{Run: run, Link: la, Addrs: prefixes("2001:db8::1/64")}), stack(t, Config{Run: run, Link: lb, Addrs: prefixes("2001:db8::2/64")})
}

func TestIPv6ConnsAreThoseOfNet(t *testing.T) { ways(t, testIPv6ConnsAreThoseOfNet) }

func testIPv6ConnsAreThoseOfNet(t *testing.T, run Run) {
	for name, c := range map[string]link.PairConfig{"segments": {}, "superframes": {Superframe: 65535, Checksum: true}} {
		t.Run(name, func(t *testing.T) {
			a, b := hosts6(t, run, c)
			l, err := b.Listen("tcp", "[2001:db8::2]:80")
			if err != nil {
				t.Fatal(err)
			}
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				c1, err = a.DialContext(context.Background(), "tcp", "[2001:db8::2]:80")
				if err != nil {
					return nil, nil, nil, err
				}
				c2, err = l.Accept()
				return c1, c2, func() { c1.Close(); c2.Close() }, err
			})
		})
	}
}

// pingSizes6 are sizes of echo data: none, the largest in one packet, one more, and the maximum.
var pingSizes6 = []int{0, 56, 1452, 1453, 65527}

func TestIPv6Pings(t *testing.T) {
	a, b := hosts6(t, RunChain, link.PairConfig{})
	for _, size := range pingSizes6 {
		if _, err := a.Ping(t.Context(), netip.MustParseAddr("2001:db8::2"), size); err != nil {
			t.Errorf("pinging with %d bytes: got error %v, want a reply", size, err)
		}
	}
	if got := a.Neighbours(); len(got) != 1 || got[0].MAC != b.ifaces[0].caps.MAC || got[0].State != neigh.Reachable {
		t.Errorf("got the neighbours %+v, want the other host, Reachable", got)
	}
}

// A link-local address needs no configuration; without a zone it is on the first link.
func TestLinkLocalAddressesReachNeighbours(t *testing.T) {
	a, b := hosts6(t, RunChain, link.PairConfig{})
	own := b.ifaces[0].ownAddrs.Load().v6[1]
	if !own.IsLinkLocalUnicast() || own.Zone() != "link" {
		t.Fatalf("got the address %v, want a link-local one with a zone", own)
	}
	for _, to := range []netip.Addr{own, own.WithZone("")} {
		if _, err := a.Ping(t.Context(), to, 8); err != nil {
			t.Errorf("pinging %v: got error %v, want a reply", to, err)
		}
	}
	l := listen(t, b, ":80")
	c := dial(t, a, "tcp", netip.AddrPortFrom(own.WithZone(""), 80).String())
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if from := accepted.RemoteAddr().String(); from != c.LocalAddr().String() || netip.MustParseAddrPort(from).Addr().Zone() != "link" {
		t.Errorf("the connection comes from %s, want %v, a link-local address with a zone", from, c.LocalAddr())
	}
}

// A listener at all addresses has connections of both families, "tcp4" and "tcp6" of one, as in
// package net.
func TestListenersHaveTheFamiliesOfTheirNetwork(t *testing.T) {
	for _, c := range []struct{ network, address, connects4, connects6 string }{
		{"tcp", ":80", "yes", "yes"}, {"tcp", "[::]:80", "yes", "yes"}, {"tcp", "0.0.0.0:80", "yes", "yes"},
		{"tcp4", ":80", "yes", "no"}, {"tcp6", ":80", "no", "yes"}, {"tcp6", "[::]:80", "no", "yes"},
	} {
		t.Run(c.network+c.address, func(t *testing.T) {
			s := stack(t, Config{})
			l, err := s.Listen(c.network, c.address)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for address, want := range map[string]string{"127.0.0.1:80": c.connects4, "[::1]:80": c.connects6} {
				got := "yes"
				if conn, err := s.Dial("tcp", address); err != nil {
					got = "no"
				} else {
					conn.Close()
				}
				if got != want {
					t.Errorf("connected to %s: %s, want %s", address, got, want)
				}
			}
		})
	}
}

// Addresses that overlap are taken, and the other family's are free.
func TestListenersOfBothFamiliesShareAPort(t *testing.T) {
	s := stack(t, Config{})
	for _, c := range []struct {
		first, second [2]string
		want          error
	}{
		{[2]string{"tcp4", ":80"}, [2]string{"tcp6", ":80"}, nil},
		{[2]string{"tcp6", ":80"}, [2]string{"tcp4", ":80"}, nil},
		{[2]string{"tcp", ":80"}, [2]string{"tcp4", ":80"}, syscall.EADDRINUSE},
		{[2]string{"tcp4", ":80"}, [2]string{"tcp", ":80"}, syscall.EADDRINUSE},
		{[2]string{"tcp", ":80"}, [2]string{"tcp6", ":80"}, syscall.EADDRINUSE},
		{[2]string{"tcp", ":80"}, [2]string{"tcp", "[::1]:80"}, syscall.EADDRINUSE},
	} {
		l, err := s.Listen(c.first[0], c.first[1])
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.Listen(c.second[0], c.second[1])
		if !errors.Is(err, c.want) {
			t.Errorf("%v beside %v: got %v, want %v", c.second, c.first, err, c.want)
		}
		if err == nil {
			second.Close()
		}
		l.Close()
	}
}

func TestIPv6Datagrams(t *testing.T) {
	a, b := hosts6(t, RunChain, link.PairConfig{})
	l, err := b.ListenPacket("udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := dial(t, a, "udp", "[2001:db8::2]:53")
	for _, size := range []int{0, 100, 5000, 65527} {
		sent := bytes.Repeat([]byte{byte(size)}, size)
		if _, err := c.Write(sent); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 70_000)
		n, from, err := l.ReadFrom(p)
		if err != nil || !bytes.Equal(p[:n], sent) || from.String() != c.LocalAddr().String() {
			t.Errorf("a datagram of %d bytes: got %d from %v, error %v", size, n, from, err)
		}
	}
	if _, err := c.Write(make([]byte, 65528)); !errors.Is(err, syscall.EMSGSIZE) {
		t.Errorf("a datagram that is too long: got %v, want EMSGSIZE", err)
	}
	c = dial(t, a, "udp", "[2001:db8::2]:54")
	c.Write(nil) //nolint:errcheck // the answer is an error
	c.SetReadDeadline(time.Now().Add(waitForPeer))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a datagram to a port without a socket: got %v, want ECONNREFUSED (RFC 4443, section 3.1)", err)
	}
}

// waitForPeer is how long a test waits for a message of the other host.
const waitForPeer = 30 * time.Second

// A neighbour that does not answer is unreachable after three solicitations (RFC 4861, section
// 7.2.2).
func TestSilentIPv6NeighbourIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := hosts6(t, RunChain, link.PairConfig{})
		began := time.Now()
		_, err := a.Dial("tcp", "[2001:db8::9]:80")
		if took := time.Since(began); !errors.Is(err, syscall.EHOSTUNREACH) || took < 2*time.Second || took > 4*time.Second {
			t.Errorf("got %v after %v, want EHOSTUNREACH after about three seconds", err, took)
		}
	})
}

// Both hosts want one address: the one that came first keeps it (RFC 4862, section 5.4).
func TestDuplicateIPv6AddressIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		stack(t, Config{Link: la, Addrs: prefixes("2001:db8::1/64")})
		time.Sleep(5 * time.Second)
		lost := make(chan Conflict, 1) // OnConflict -> the test: one conflict
		stack(t, Config{Link: lb, Addrs: prefixes("2001:db8::1/64"), OnConflict: func(c Conflict) { lost <- c }})
		if got := <-lost; !got.Lost || got.Addr != netip.MustParseAddr("2001:db8::1") {
			t.Errorf("got the conflict %+v, want the address lost", got)
		}
	})
}

// With ProbeAddrs, New fails.
func TestDuplicateIPv6AddressFailsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		stack(t, Config{Link: la, Addrs: prefixes("2001:db8::1/64")})
		if s, err := New(Config{Link: lb, Addrs: prefixes("2001:db8::1/64"), ProbeAddrs: true}); err == nil {
			s.Close()
			t.Error("got a stack, want the error that the address is in use")
		}
	})
}

// One connection carries both directions at once, in superframes and in segments.
func TestIPv6BulkData(t *testing.T) {
	for name, c := range map[string]link.PairConfig{"segments": {}, "superframes": {Superframe: 65535, Checksum: true}} {
		t.Run(name, func(t *testing.T) {
			a, b := hosts6(t, RunChain, c)
			l := listen(t, b, "[2001:db8::2]:80")
			out := dial(t, a, "tcp", "[2001:db8::2]:80")
			in, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			const size = 20 << 20
			go func() {
				out.Write(make([]byte, size)) //nolint:errcheck // the reader sees what is missing
				out.(*Conn).CloseWrite()      //nolint:errcheck // as above
			}()
			if n, err := io.Copy(io.Discard, in); n != size || err != nil {
				t.Errorf("got %d bytes, error %v, want %d", n, err, size)
			}
		})
	}
}
