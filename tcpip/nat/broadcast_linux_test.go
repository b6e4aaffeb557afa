package nat

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A host reaches no broadcast address of this machine's networks: neither by sockets, nor by those
// of package net, nor by pings.
func TestBroadcastAddressesAreNotReached(t *testing.T) {
	broadcast := netip.MustParseAddrPort("127.255.255.255:9") // a network that every machine has
	to := netip.MustParseAddrPort("198.51.100.255:9")         // stands for it: it is denied itself
	n := &NAT{config: Config{Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
		return dialNet(ctx, network, broadcast)
	}}, ctx: t.Context()}
	if c, err := n.dial("udp", to); !errors.Is(err, syscall.EACCES) {
		t.Errorf("by package net: got %v and the error %v, want EACCES", c, err)
	}
	n.config.Dial, n.config.Loopback = dialNet, here
	c, err := n.dial("udp", netip.AddrPortFrom(here[0], 9))
	if err != nil {
		t.Fatalf("another address is not reached: %v", err)
	}
	c.Close()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: broadcast.Addr().As4()}); err != syscall.EACCES {
		t.Errorf("by a socket as the gateway opens it: got %v, want EACCES", err)
	}
	e, err := listenEcho(broadcast.Addr())
	if err != nil {
		t.Logf("pings are not allowed here: %v", err)
		return
	}
	defer e.Close()
	if _, err := ping(e, broadcast.Addr(), nil); !errors.Is(err, syscall.EACCES) {
		t.Errorf("by a ping: got %v, want EACCES", err)
	}
}
