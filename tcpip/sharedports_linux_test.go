package tcpip

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

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
