package nat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
)

// waitLimit is how long a test waits for what it expects.
const waitLimit = 20 * time.Second

// The addresses that stand for this machine, where a test has its servers.
var here = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}

// network returns a host on a link with a user-mode network.
func network(t *testing.T, m link.Medium, c Config) (host *tcpip.Stack, n *NAT) {
	t.Helper()
	near, far := link.Pair(link.PairConfig{Medium: m})
	c.Link, c.Loopback = far, here
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	all4, all6 := netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")
	host, err = tcpip.New(tcpip.Config{Link: near, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.2.100/24"), netip.MustParsePrefix("fd00:2::100/64")},
		Routes: []ip.Route{{To: all4, Via: netip.MustParseAddr("10.0.2.2")}, {To: all6, Via: netip.MustParseAddr("fd00:2::2")}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close(); n.Close() })
	return host, n
}

// startEcho starts an echo server for TCP and UDP at a loopback address of this machine.
func startEcho(t *testing.T, addr string) (port uint16) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(addr, "0"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			all.Go(func() {
				io.Copy(c, c) //nolint:errcheck // the host sees it
				c.Close()
			})
		}
	})
	all.Go(func() {
		b := make([]byte, largestDatagram)
		for n, from, err := u.ReadFrom(b); err == nil; n, from, err = u.ReadFrom(b) {
			u.WriteTo(b[:n], from) //nolint:errcheck // the host sees it
		}
	})
	t.Cleanup(func() { l.Close(); u.Close(); all.Wait() })
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

// each runs a test for both media, both versions of IP, and both ways to pass on what comes: to is
// the address of an echo server.
func each(t *testing.T, test func(t *testing.T, host *tcpip.Stack, to netip.AddrPort)) {
	for name, m := range map[string]link.Medium{"Ethernet": link.Ethernet, "IP": link.IP} {
		for i, loopback := range []string{"127.0.0.1", "::1"} {
			for by, c := range map[string]Config{"sockets": {}, "goroutines": {Dial: dialNet}} {
				t.Run(name+" "+loopback+" by "+by, func(t *testing.T) {
					host, _ := network(t, m, c)
					test(t, host, netip.AddrPortFrom(here[i], startEcho(t, loopback)))
				})
			}
		}
	}
}

func TestConnectionsPass(t *testing.T) {
	each(t, func(t *testing.T, host *tcpip.Stack, to netip.AddrPort) {
		data := bytes.Repeat([]byte("weir"), 300_000)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				c, err := host.Dial("tcp", to.String())
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
				all.Go(func() {
					c.Write(data)                //nolint:errcheck // the echo shows it
					c.(*tcpip.Conn).CloseWrite() //nolint:errcheck // as above
				})
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, data) {
					t.Errorf("got %d bytes and %v, want the %d that were sent", len(got), err, len(data))
				}
			})
		}
		all.Wait()
	})
}

func TestDatagramsPass(t *testing.T) {
	each(t, func(t *testing.T, host *tcpip.Stack, to netip.AddrPort) {
		c, err := host.Dial("udp", to.String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
		for _, size := range []int{0, 1, 1400, 1473, 30_000, 65_000} {
			want := bytes.Repeat([]byte{byte(size)}, size)
			if _, err := c.Write(want); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, largestDatagram)
			if n, err := c.Read(got); err != nil || !bytes.Equal(got[:n], want) {
				t.Errorf("%d bytes: got %d and %v, want them back", size, n, err)
			}
		}
	})
}

func TestTheHostSeesTheErrorOfTheFarEnd(t *testing.T) {
	each(t, func(t *testing.T, host *tcpip.Stack, to netip.AddrPort) {
		l, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is then closed
		if err != nil {
			t.Fatal(err)
		}
		closed := netip.AddrPortFrom(to.Addr(), l.Addr().(*net.TCPAddr).AddrPort().Port())
		l.Close()
		if _, err := host.Dial("tcp", closed.String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connecting to a closed port: got %v, want refused", err)
		}
		c, err := host.Dial("udp", closed.String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
		c.Write([]byte("anyone?"))               //nolint:errcheck // as above
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a datagram to a closed port: got %v, want refused", err)
		}
	})
}

func TestPingsPass(t *testing.T) {
	if c, err := listenEcho(netip.IPv6Unspecified()); err != nil {
		t.Skipf("this user may open no ping sockets: %v", err)
	} else {
		c.Close()
	}
	each(t, func(t *testing.T, host *tcpip.Stack, to netip.AddrPort) {
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		defer cancel()
		if _, err := host.Ping(ctx, to.Addr(), 100); err != nil {
			t.Error(err)
		}
	})
}

// Addresses of this machine and of metadata services are not dialed, however they are written.
func TestDeniedAddressesAreNotDialed(t *testing.T) {
	c, err := Config{Link: link.Loopback(), Deny: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/28")}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "0.0.0.0": true, "0.1.2.3": true, "169.254.169.254": true, "192.0.2.15": true, "100.100.100.200": true, "224.0.0.1": true,
		"::": true, "::1": true, "fe80::1": true, "fd00:ec2::254": true, "ff02::1": true,
		"::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "64:ff9b::a9fe:a9fe": true, "2002:a9fe:a9fe::1": true, "2002:7f00:1::": true, "::127.0.0.1": true, "::ffff:0:127.0.0.1": true,
		"64:ff9b::c000:20f": true, "192.0.2.16": false, "10.0.2.2": false, "2001:db8::1": false, "64:ff9b::c000:210": false, "::ffff:192.0.2.16": false,
		// local-use NAT64, with prefixes of all lengths (RFC 8215, RFC 6052, section 2.2)
		"64:ff9b:1::a9fe:a9fe": true, "64:ff9b:1:a9fe:a9:fe00::": true, "64:ff9b:1:1a9:fe:a9fe::": true, "64:ff9b:1:1:a9:fea9:fe00:0": true, "64:ff9b:1:2:3:4:7f00:1": true, "64:ff9b:1::c000:210": false,
		// Teredo, by server and by client (RFC 4380), and ISATAP (RFC 5214)
		"2001:0:a9fe:a9fe::1": true, "2001:0:c000:210:0:0:80ff:fffe": true, "2001:0:c000:210:0:0:3fff:fdef": false,
		"2001:db8::5efe:7f00:1": true, "2001:db8::200:5efe:a9fe:a9fe": true, "2001:db8::5efe:c000:210": false,
		"255.255.255.255": true, "64:ff9b::ffff:ffff": true, "fec0::1": false, "fe80::1%eth0": true, "64:ff9b::7f00:1": true,
	} {
		if got := c.isDenied(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s is denied: %v, want %v", a, got, want)
		}
	}
}

// A denied network that is written as IPv4-mapped is that of IPv4: all addresses are compared so.
func TestMappedNetworksAreDenied(t *testing.T) {
	c, err := Config{Deny: []netip.Prefix{netip.MustParsePrefix("::ffff:10.1.0.0/112")}}.withDefaults()
	if err != nil || !c.isDenied(netip.MustParseAddr("10.1.2.3")) || c.isDenied(netip.MustParseAddr("10.2.2.3")) {
		t.Errorf("10.1.2.3 is denied: %v, 10.2.2.3: %v (%v), want only the first", c.isDenied(netip.MustParseAddr("10.1.2.3")), c.isDenied(netip.MustParseAddr("10.2.2.3")), err)
	}
	for _, wrong := range []Config{{Deny: []netip.Prefix{{}}}, {Loopback: []netip.Addr{netip.MustParseAddr("::ffff:192.0.2.1")}}} {
		if _, err := wrong.withDefaults(); err == nil {
			t.Errorf("%v and %v: got no error, want one: it would have no effect", wrong.Deny, wrong.Loopback)
		}
	}
}

func TestDeniedConnectionsAreRejected(t *testing.T) {
	host, _ := network(t, link.Ethernet, Config{Dial: func(context.Context, string, netip.AddrPort) (net.Conn, error) {
		t.Error("a denied address was dialed")
		return nil, syscall.ECONNREFUSED
	}})
	for _, to := range []string{"169.254.169.254:80", "[fd00:ec2::254]:80", "[2002:a9fe:a9fe::1]:80"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := host.DialContext(ctx, "tcp", to); err == nil {
			t.Errorf("%s was connected, want an error", to)
		}
		cancel()
		c, err := host.Dial("udp", to)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
		c.Write([]byte("secrets?"))              //nolint:errcheck // as above
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.EACCES) {
			t.Errorf("a datagram to %s: got %v, want it prohibited", to, err)
		}
	}
}

// A host cannot take all flows of the others.
func TestFlowsAreLimited(t *testing.T) {
	host, n := network(t, link.IP, Config{Flows: 10})
	to := netip.AddrPortFrom(here[0], startEcho(t, "127.0.0.1"))
	open := 0
	for range 20 {
		c, err := host.Dial("udp", to.String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(50 * time.Millisecond)) //nolint:errcheck // Read shows it
		c.Write([]byte("a flow"))                            //nolint:errcheck // as above
		if _, err := c.Read(make([]byte, 10)); err == nil {
			open++
		}
	}
	if open != 5 || !n.begin(netip.MustParseAddr("10.0.2.101")) {
		t.Errorf("one host has %d of 10 flows, want half of them and room for another", open)
	}
	n.end(netip.MustParseAddr("10.0.2.101"))
}

func TestPublishedPortsReachTheHost(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().(*net.TCPAddr).AddrPort()
	free.Close()
	for _, to := range []netip.AddrPort{netip.AddrPortFrom(netip.Addr{}, 80), netip.MustParseAddrPort("[fd00:2::100]:80")} {
		host, n := network(t, link.Ethernet, Config{Publish: []Publish{{"tcp", at, to}, {"udp", at, to}}})
		l, err := host.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				io.Copy(c, c) //nolint:errcheck // the client sees it
				c.Close()
			}
		}()
		u, err := host.ListenPacket("udp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			var b [100]byte
			if n, from, err := u.ReadFrom(b[:]); err == nil {
				u.WriteTo(b[:n], from) //nolint:errcheck // the client sees it
			}
		}()
		for _, network := range []string{"tcp", "udp"} {
			c, err := net.Dial(network, at.String())
			if err != nil {
				t.Fatal(err)
			}
			c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
			var b [4]byte
			io.WriteString(c, "ping") //nolint:errcheck // the echo shows it
			if _, err := io.ReadFull(c, b[:]); err != nil || string(b[:]) != "ping" {
				t.Errorf("%s to %v: got %q and %v, want the echo", network, to, b, err)
			}
			c.Close()
		}
		host.Close()
		n.Close()
	}
}
