package tcpip

import (
	"io"
	"net"
	"net/netip"
	"testing"

	"weir/tcpip/link"
)

func TestKernelExchangesBulkDataByIPv6(t *testing.T) {
	for _, plain := range []bool{false, true} {
		p := kernel(t, plain)
		l := p.listen(t, "["+kernelHost6+"]:0")
		a := dial(t, p.stack, "tcp", l.Addr().String())
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, a.(*Conn), b.(*net.TCPConn), 32<<20)
		a.Close()
		b.Close()
		l2 := listen(t, p.stack, "["+stackHost6+"]:0")
		c := p.dial(t, l2.Addr().String())
		d, err := l2.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go io.WriteString(c, "hello")
		if _, err := io.ReadFull(d, make([]byte, 5)); err != nil {
			t.Error(err)
		}
	}
}

// By a TUN device the packets have no frame header, and no neighbour is resolved.
func TestKernelExchangesPacketsByTUN(t *testing.T) {
	for _, plain := range []bool{false, true} {
		p := kernelByTUN(t, plain)
		for _, host := range []string{kernelHost, kernelHost6} {
			for _, size := range []int{0, 1452, 1473, 65507} {
				if _, err := p.stack.Ping(t.Context(), netip.MustParseAddr(host), size); err != nil {
					t.Errorf("pinging %s with %d bytes: got error %v, want a reply", host, size, err)
				}
			}
			l := p.listen(t, net.JoinHostPort(host, "0"))
			a := dial(t, p.stack, "tcp", l.Addr().String())
			b, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			exchange(t, a.(*Conn), b.(*net.TCPConn), 16<<20)
			a.Close()
			b.Close()
		}
		if n := len(p.stack.Neighbours()); n != 0 {
			t.Errorf("got %d neighbours, want none on a link without hardware addresses", n)
		}
	}
}

// kernelByTUN is kernel by a TUN device.
func kernelByTUN(t *testing.T, plain bool) *peer {
	t.Helper()
	p := &peer{space: newSpace(t), device: "tun0", of: bothEnds[0]}
	p.tap = device(t, link.SetupConfig{Medium: link.IP, Namespace: p.space, Tap: p.device, Addrs: []netip.Prefix{netip.MustParsePrefix(kernelHost + "/24")}}, plain)
	p.stack = hostOn(t, p.tap, stackHost+"/24", withIPv6)
	p.addIPv6(t)
	return p
}
