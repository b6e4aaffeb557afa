package tcpip

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/tcpip/link"
)

// Datagrams of every size pass between the kernel and the stack; a closed port causes an error.
func TestKernelExchangesDatagrams(t *testing.T) { ofBothEnds(t, testKernelExchangesDatagrams) }

func testKernelExchangesDatagrams(t *testing.T, of ends) {
	at := func(port string) string { return net.JoinHostPort(of.kernel, port) }
	for _, plain := range []bool{false, true} {
		p := kernelOfEnds(t, of, plain)
		var pc net.PacketConn
		if err := p.inside(func() (err error) {
			pc, err = net.ListenPacket("udp", at("53"))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		c := dial(t, p.stack, "udp", at("53"))
		c.SetReadDeadline(time.Now().Add(waitLimit))
		pc.SetReadDeadline(time.Now().Add(waitLimit))
		got := make([]byte, 1<<16)
		for _, size := range []int{0, 1, 1452, 1453, 1472, 1473, 9000, 65507} {
			sent := bytes.Repeat([]byte{byte(size)}, size)
			if _, err := c.Write(sent); err != nil {
				t.Fatal(err)
			}
			n, from, err := pc.ReadFrom(got)
			if err != nil || !bytes.Equal(got[:n], sent) || from.String() != c.LocalAddr().String() {
				t.Fatalf("a datagram of %d bytes to the kernel: got %d bytes from %v, error %v; want the same bytes from %v", size, n, from, err, c.LocalAddr())
			}
			if _, err := pc.WriteTo(sent, from); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Read(got); err != nil || !bytes.Equal(got[:n], sent) {
				t.Fatalf("a datagram of %d bytes to the stack: got %d bytes, error %v; want the same bytes", size, n, err)
			}
		}
		closed := dial(t, p.stack, "udp", at("54"))
		closed.Write([]byte("x")) //nolint:errcheck // the read tells
		closed.SetReadDeadline(time.Now().Add(waitLimit))
		if _, err := closed.Read(got); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("reading from a closed port: %v, want ECONNREFUSED", err)
		}
	}
}

// The kernel answers a probe for its own address: the stack does not start with it.
func TestKernelHasTheAddressAndNewFails(t *testing.T) {
	ofBothEnds(t, testKernelHasTheAddressAndNewFails)
}

func testKernelHasTheAddressAndNewFails(t *testing.T, of ends) {
	p := &peer{space: newSpace(t), device: "tap0"}
	p.tap = device(t, link.SetupConfig{Namespace: p.space, Tap: p.device, Addrs: []netip.Prefix{netip.MustParsePrefix(kernelHost + "/24")}}, false)
	p.addIPv6(t)
	s, err := New(Config{Link: p.tap, Addrs: prefixes(of.kernel + "/24"), ProbeAddrs: true})
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), of.kernel+" is in use") {
		t.Errorf("New with the kernel's address: got error %v, want one that says %s is in use", err, of.kernel)
	}
}
