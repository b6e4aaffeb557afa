package tcpip

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"weir/tcpip/ip"
	"weir/wire"
)

// A flood of SYNs from many addresses neither denies service to others nor takes unlimited memory.
func TestKernelConnectsDuringASYNFlood(t *testing.T) {
	ofBothEnds(t, testKernelConnectsDuringASYNFlood)
}

func testKernelConnectsDuringASYNFlood(t *testing.T, of ends) {
	p := kernelOfEnds(t, of, false, func(c *Config) {
		c.Backlog = 64
		c.Routes = []ip.Route{{To: netip.MustParsePrefix(of.all), Via: netip.MustParseAddr(of.kernel)}}
	})
	l := listen(t, p.stack, ":80")
	alive(t, p) // and the neighbour is known
	flood := p.flooder(t)
	// the test -> the flood: closed to end it; the flood -> the test: how many SYNs
	stop, flooded := make(chan bool), make(chan int, 1)
	go func() {
		n := 0
		for ; n < 20_000; n++ {
			select {
			case <-stop:
				flooded <- n
				return
			default:
				flood(n)
			}
		}
		flooded <- n
	}()
	for range 50 {
		c := p.dial(t, net.JoinHostPort(of.stack, "80")).(*net.TCPConn)
		first := make(chan error, 1) // the goroutine below -> here
		// a client that sends first is served even if the flood displaces the end of its handshake
		go func() { _, err := c.Write([]byte("x")); first <- err }()
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := d.Read(make([]byte, 1)); n != 1 || <-first != nil {
			t.Fatal(err)
		}
		exchange(t, d.(*Conn), c, 5000)
		d.Close()
		c.Close()
	}
	close(stop)
	t.Logf("%d SYNs", <-flooded)
	if n := len(p.stack.conns.all()); n > 1000 {
		t.Errorf("got %d connections in a SYN flood, want at most 1000", n)
	}
}

// flooder returns a function that sends the n-th SYN of a flood, each from another address.
func (p *peer) flooder(t *testing.T) func(n int) {
	t.Helper()
	fd := -1
	p.onDevice(t, func(l netlink.Link) (err error) {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: l.Attrs().Index})
	})
	t.Cleanup(func() { unix.Close(fd) })
	to := netip.AddrPortFrom(netip.MustParseAddr(p.of.stack), 80)
	return func(n int) {
		src, kind := netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)}), wire.TypeIPv4
		if to.Addr().Is6() {
			src, kind = netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 2: 0xd, 3: 0xb8, 14: byte(n >> 8), 15: byte(n)}), wire.TypeIPv6
		}
		from := netip.AddrPortFrom(src, uint16(1024+n%50_000))
		f := wire.TCPFields{Src: from, Dst: to, Seq: wire.Seq(n), Flags: wire.SYN, Window: 65535, Options: (&wire.TCPOptions{MSS: 1460, SACKPermitted: true}).Append(nil)}
		b := wire.AppendEthernet(nil, p.tap.Caps().MAC, wire.MAC{2, 0, 0, 0, 0, 9}, kind)
		if payload := wire.TCPHeader + len(f.Options); src.Is4() {
			b = wire.AppendIPv4(b, &wire.IPv4Fields{TTL: 64, Protocol: wire.TCPProtocol, Src: src, Dst: to.Addr(), Payload: payload})
		} else {
			b = wire.AppendIPv6(b, &wire.IPv6Fields{HopLimit: 64, NextHeader: wire.TCPProtocol, Src: src, Dst: to.Addr(), Payload: payload})
		}
		unix.Write(fd, wire.AppendTCP(b, &f)) //nolint:errcheck // what does not get in is no flood
	}
}
