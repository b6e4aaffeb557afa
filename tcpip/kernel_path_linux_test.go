package tcpip

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/wire"
)

// pingSizes are sizes of echo data: none, ping's default, the largest in one packet of IPv6 and of
// IPv4, one more, and the maximum.
var pingSizes = []int{0, 56, 1452, 1453, 1472, 1473, 65507}

// The kernel pings the stack; large echoes are fragmented in both directions.
func TestKernelPings(t *testing.T) { ofBothEnds(t, testKernelPings) }

func testKernelPings(t *testing.T, of ends) {
	network := map[string]string{"IPv4": "ip4:icmp", "IPv6": "ip6:ipv6-icmp"}[of.name]
	for _, plain := range []bool{false, true} {
		p := kernelOfEnds(t, of, plain)
		var c net.PacketConn
		if err := p.inside(func() (err error) { c, err = net.ListenPacket(network, of.kernel); return err }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetReadDeadline(time.Now().Add(waitLimit))
		for number, size := range pingSizes {
			data := make([]byte, size)
			rand.NewChaCha8([32]byte{byte(number)}).Read(data)
			if _, err := c.WriteTo(echoRequest(of, uint16(number), data), &net.IPAddr{IP: net.ParseIP(of.stack)}); err != nil {
				t.Fatalf("sending an echo request of %d bytes: got error %v, want none", size, err)
			}
			n, err := readEchoReply(c, of, uint16(number), data)
			if err != nil {
				t.Fatalf("an echo request of %d bytes: got %d bytes back, error %v; want a reply with number %d and the same data", size, n, err, number)
			}
		}
		if held := p.stack.unfinished(); held != 0 {
			t.Errorf("the stack holds %d bytes of fragments, want 0 after whole packets", held)
		}
	}
}

// echoRequest returns a message of the kernel, which sets the checksum of ICMPv6.
func echoRequest(of ends, number uint16, data []byte) []byte {
	if of.name == "IPv4" {
		return wire.AppendICMP(nil, wire.EchoRequest, 0, wire.EchoHeader(77, number), data)
	}
	return wire.AppendICMPv6(nil, netip.MustParseAddr(of.kernel), netip.MustParseAddr(of.stack), wire.EchoRequest6, 0, wire.EchoHeader(77, number), data)
}

// readEchoReply reads messages until an echo reply, which must have a number and data. It returns
// its length. A socket for ICMPv6 gets neighbour discovery too.
func readEchoReply(c net.PacketConn, of ends, number uint16, data []byte) (n int, err error) {
	for b := make([]byte, 70_000); ; {
		if n, _, err = c.ReadFrom(b); err != nil || n < wire.ICMPHeader {
			return n, fmt.Errorf("reading: %w", err)
		}
		ok, seq, body := wire.ICMP(b[:n]).ChecksumOK() && wire.ICMP(b).Type() == wire.EchoReply, wire.ICMP(b).EchoSeq(), b[wire.ICMPHeader:n]
		if of.name == "IPv6" {
			if wire.ICMPv6(b).Type() != wire.EchoReply6 {
				continue
			}
			ok = wire.ICMPv6(b[:n]).ChecksumOK(netip.MustParseAddr(of.stack), netip.MustParseAddr(of.kernel))
		}
		if !ok || seq != number || !bytes.Equal(body, data) {
			return n, fmt.Errorf("the reply has number %d and a right checksum: %t", seq, ok)
		}
		return n, nil
	}
}

// The stack pings the kernel.
func TestKernelIsPinged(t *testing.T) {
	p := kernel(t, false)
	for _, of := range bothEnds {
		for _, size := range pingSizes {
			if _, err := p.stack.Ping(t.Context(), netip.MustParseAddr(of.kernel), size); err != nil {
				t.Errorf("pinging the kernel by %s with %d bytes: got error %v, want a reply", of.name, size, err)
			}
		}
	}
}

// Packets to a neighbour that does not answer: few of them wait, the application receives an error,
// and other traffic goes on.
func TestKernelSilentNeighbourIsReported(t *testing.T) {
	ofBothEnds(t, testKernelSilentNeighbourIsReported)
}

func testKernelSilentNeighbourIsReported(t *testing.T, of ends) {
	p := kernelOfEnds(t, of, false)
	a, b := p.pair(t, true)
	silent := dial(t, p.stack, "udp", net.JoinHostPort(of.silent[0], "9"))
	for range 300 {
		if _, err := silent.Write(make([]byte, 1000)); err != nil && !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Fatal(err)
		}
	}
	refused := make(chan error, 1) // the goroutine below -> the test
	go func() {
		_, err := p.stack.Dial("tcp", net.JoinHostPort(of.silent[1], "9"))
		refused <- err
	}()
	exchange(t, a, b, 1_000_000)
	silent.SetReadDeadline(time.Now().Add(waitLimit))
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Errorf("reading from a silent neighbour: %v, want that there is no route to it", err)
	}
	if err := <-refused; !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Errorf("dialing a silent neighbour: %v, want that there is no route to it", err)
	}
	alive(t, p)
}

// The kernel's side of the link goes down during transfers by IPv4 and IPv6, and up again: the
// transfers continue.
func TestKernelGoesDownAndUpAndTransfersContinue(t *testing.T) {
	p := kernel(t, false)
	if err := p.inside(func() error { return os.WriteFile("/proc/sys/net/ipv6/conf/all/keep_addr_on_down", []byte("1"), 0) }); err != nil {
		t.Skipf("the kernel cannot keep its IPv6 address while the device is down: %v", err)
	}
	a, b := p.pair(t, true)
	p.of = bothEnds[1]
	other, others := p.pair(t, true)
	done := make(chan bool) // the goroutine below -> the test: closed when all has come
	go func() { exchange(t, a, b, 256<<20); close(done) }()
	until(t, "data is on its way both ways", func() bool { i := info(t, b); return i.Bytes_received > 8<<20 && i.Bytes_acked > 8<<20 })
	p.onDevice(t, netlink.LinkSetDown)
	other.Write([]byte("x")) //nolint:errcheck // the other end tells
	until(t, "the device drops what the stack sends", func() bool { return p.tap.Queue(0).Counters().Dropped[link.DropDown] > 0 })
	p.onDevice(t, netlink.LinkSetUp)
	select {
	case <-done:
	case <-time.After(waitLimit):
		t.Errorf("the transfers did not finish within %v of the device going up, want them to continue", waitLimit)
		a.Close()
		b.Close()
		<-done
	}
	others.SetReadDeadline(time.Now().Add(waitLimit))
	if n, err := others.Read(make([]byte, 1)); n != 1 {
		t.Errorf("reading what was written while the device was down: got %d bytes, error %v; want 1", n, err)
	}
}

// The kernel routes between two stacks. When the second link's MTU shrinks, the kernel sends a
// Packet Too Big (RFC 1191, RFC 8201), and the connection continues with smaller segments.
// Datagrams without DF, or in fragments of IPv6, still arrive.
func TestKernelLowersThePathsMTU(t *testing.T) { ofBothEnds(t, testKernelLowersThePathsMTU) }

func testKernelLowersThePathsMTU(t *testing.T, of ends) {
	router, host, forwarding := netip.MustParsePrefix("10.78.0.1/24"), netip.MustParseAddr("10.78.0.2"), "/proc/sys/net/ipv4/ip_forward"
	if of.name == "IPv6" {
		router, host, forwarding = netip.MustParsePrefix("fd78::1/64"), netip.MustParseAddr("fd78::2"), "/proc/sys/net/ipv6/conf/all/forwarding"
	}
	at := func(port uint16) string { return netip.AddrPortFrom(host, port).String() }
	for _, plain := range []bool{false, true} {
		p := kernelOfEnds(t, of, plain, func(c *Config) {
			c.Routes = []ip.Route{{To: netip.MustParsePrefix(of.all), Via: netip.MustParseAddr(of.kernel)}}
		})
		if err := p.inside(func() error { return os.WriteFile(forwarding, []byte("1"), 0) }); err != nil {
			t.Skipf("IP forwarding of the kernel cannot be enabled: %v", err)
		}
		tap := device(t, link.SetupConfig{Namespace: p.space, Tap: "tap1", Addrs: []netip.Prefix{router}}, plain)
		far := hostOn(t, tap, netip.PrefixFrom(host, router.Bits()).String(), func(c *Config) {
			c.Routes = []ip.Route{{To: netip.MustParsePrefix(of.all), Via: router.Addr()}}
		})
		l := listen(t, far, ":80")
		meet := func() (a, b *Conn) {
			a = dial(t, p.stack, "tcp", at(80)).(*Conn)
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return a, c.(*Conn)
		}
		a, b := meet()
		done := make(chan bool) // the goroutine below -> the test: closed when all has come
		go func() { exchange(t, a, b, 4<<20); close(done) }()
		if err := p.inside(func() error {
			l, err := netlink.LinkByName("tap1")
			return errors.Join(err, netlink.LinkSetMTU(l, 1300))
		}); err != nil {
			t.Error(err)
		}
		<-done
		a, b = meet() // if that was all there before
		exchange(t, a, b, 100_000)
		u := dial(t, p.stack, "udp", at(53))
		in, err := far.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		u.Write(make([]byte, 1472)) //nolint:errcheck // the other end tells
		in.SetReadDeadline(time.Now().Add(waitLimit))
		if n, _, err := in.ReadFrom(make([]byte, 2000)); n != 1472 || err != nil {
			t.Errorf("a datagram of 1472 bytes on a path with a lower MTU: got %d bytes, error %v; want it fragmented and whole", n, err)
		}
		if mtu, _ := p.stack.pathMTU(host, p.stack.ifaces[0]); mtu != 1300 {
			t.Errorf("the path takes %d bytes, want 1300", mtu)
		}
	}
}
