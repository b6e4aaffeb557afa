package tcpip

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/ipv4"

	"weir/tcpip/link"
)

// Two sockets share a port where the kernel lets them, and only there.
func TestPortsAreSharedAsByTheKernel(t *testing.T) {
	a, _ := hosts(t, link.PairConfig{})
	addrs := []string{"tcp 127.0.0.1", "tcp 127.0.0.2", "tcp 0.0.0.0", "tcp4 0.0.0.0", "tcp ::", "tcp6 ::", "tcp ::1", "tcp "}
	for _, kind := range []string{"tcp", "udp"} {
		for _, first := range addrs {
			for _, second := range addrs {
				first, second := strings.Replace(first, "tcp", kind, 1), strings.Replace(second, "tcp", kind, 1)
				kernel, err := openBoth(first, second, kernelOpen)
				if err != nil {
					t.Fatal(err)
				}
				stack, err := openBoth(first, second, a.open)
				if err != nil || stack != kernel {
					t.Errorf("%q, then %q at the same port: got in use %t, %v; the kernel has %t", first, second, stack, err, kernel)
				}
			}
		}
	}
}

// openBoth opens a socket at a free port and another one at the same port, and reports whether the
// second failed with EADDRINUSE.
func openBoth(first, second string, open func(network, address string) (string, func() error, error)) (inUse bool, err error) {
	network, host, _ := strings.Cut(first, " ")
	addr, shut, err := open(network, net.JoinHostPort(host, "0"))
	if err != nil {
		return false, fmt.Errorf("opening %q: %w", first, err)
	}
	defer shut() //nolint:errcheck // the test has ended
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false, err
	}
	network, host, _ = strings.Cut(second, " ")
	_, shutSecond, err := open(network, net.JoinHostPort(host, port))
	if err == nil {
		return false, shutSecond()
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return false, fmt.Errorf("opening %q: %w", second, err)
	}
	return true, nil
}

func kernelOpen(network, address string) (string, func() error, error) {
	return openedSocket(network, address, net.Listen, net.ListenPacket)
}

func (s *Stack) open(network, address string) (string, func() error, error) {
	return openedSocket(network, address, s.Listen, s.ListenPacket)
}

// openedSocket opens a listener or a packet socket.
func openedSocket(network, address string, listen func(_, _ string) (net.Listener, error), packet func(_, _ string) (net.PacketConn, error)) (string, func() error, error) {
	if strings.HasPrefix(network, "udp") {
		p, err := packet(network, address)
		if err != nil {
			return "", nil, err
		}
		return p.LocalAddr().String(), p.Close, nil
	}
	l, err := listen(network, address)
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), l.Close, nil
}

// Sockets for groups share a port among each other, and with no others.
func TestKernelSharesPortsOfGroupsAlike(t *testing.T) {
	a, _ := hosts(t, link.PairConfig{})
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Skip("the kernel has no loopback interface")
	}
	kernelGroup := func(network, address string) (net.PacketConn, error) {
		to, err := net.ResolveUDPAddr(network, address)
		if err != nil {
			return nil, err
		}
		return net.ListenMulticastUDP(network, lo, to)
	}
	stackGroup := func(network, address string) (net.PacketConn, error) {
		to, err := net.ResolveUDPAddr(network, address)
		if err != nil {
			return nil, err
		}
		return a.ListenMulticastUDP(network, "lo", to)
	}
	// those with a "+" join the group
	addrs := []string{"udp+ 224.0.0.251", "udp4+ 239.1.2.3", "udp6+ ff02::fb", "udp 224.0.0.251", "udp4 224.0.0.251", "udp 0.0.0.0", "udp4 0.0.0.0", "udp6 ::", "udp 127.0.0.1", "udp ::1"}
	opener := func(packet, group func(_, _ string) (net.PacketConn, error)) func(network, address string) (string, func() error, error) {
		return func(network, address string) (string, func() error, error) {
			name, joins := strings.CutSuffix(network, "+")
			if joins {
				return openedSocket(name, address, nil, group)
			}
			return openedSocket(name, address, nil, packet)
		}
	}
	for _, first := range addrs {
		for _, second := range addrs {
			kernel, err := openBoth(first, second, opener(net.ListenPacket, kernelGroup))
			if err != nil {
				t.Fatal(err)
			}
			stack, err := openBoth(first, second, opener(a.ListenPacket, stackGroup))
			if err != nil || stack != kernel {
				t.Errorf("%q, then %q at the same port: got in use %t, %v; the kernel has %t", first, second, stack, err, kernel)
			}
		}
	}
}

// Of sockets that share a port, the kernel and the stack give a datagram for the host to the one
// that was opened last, and a datagram for a group to each.
func TestKernelReceivesBySharedPortsAlike(t *testing.T) {
	p := kernel(t, false)
	kernels := []net.PacketConn{p.kernelGroup(t, group4, 5000), p.kernelGroup(t, group4, 5000), p.kernelGroup(t, group4, 5000)}
	ours := []net.PacketConn{listenGroup(t, p.stack, "", group4, 5000), listenGroup(t, p.stack, "", group4, 5000), listenGroup(t, p.stack, "", group4, 5000)}
	from := sender(t, p.stack)
	var fromKernel net.PacketConn
	if err := p.inside(func() (err error) {
		fromKernel, err = net.ListenPacket("udp4", kernelHost+":0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer fromKernel.Close()
	p.onDevice(t, func(l netlink.Link) error {
		c := ipv4.NewPacketConn(fromKernel)
		return errors.Join(c.SetMulticastLoopback(false), c.SetMulticastInterface(&net.Interface{Index: l.Attrs().Index}))
	})
	from.SetMulticastLoop(false)
	for name, c := range map[string]struct {
		from net.PacketConn
		host string
		to   []net.PacketConn
	}{"the kernel": {from, kernelHost, kernels}, "the stack": {fromKernel, stackHost, ours}} {
		wantDatagram(t, name+", socket 3 of 3", c.from, c.host+":5000", c.to[2:])
		wantDatagram(t, name, c.from, "239.1.2.3:5000", c.to)
	}
}

// wantDatagram sends a datagram with its destination as payload, and fails unless it is the next
// one of each of the sockets.
func wantDatagram(t *testing.T, name string, from net.PacketConn, to string, all []net.PacketConn) {
	t.Helper()
	if _, err := from.WriteTo([]byte(to), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to))); err != nil {
		t.Fatal(err)
	}
	for i, u := range all {
		u.SetReadDeadline(time.Now().Add(waitLimit))
		b := make([]byte, 100)
		if n, _, err := u.ReadFrom(b); err != nil || string(b[:n]) != to {
			t.Errorf("%s, socket %d: got %q, error %v; want %q", name, i+1, b[:n], err, to)
		}
	}
}
