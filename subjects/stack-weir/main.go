// Command stack-weir is Weir's own TCP/IP stack as a subject: a host on a TAP device with the services of a stack under test. The folders stack-weir-chain,
// stack-weir-network, stack-weir-serve and stack-weir-plain build it and differ in flags alone.
//
// Limitations: it takes one queue of the device.
package main

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"weir/subjects/internal/stackapp"
	"weir/tcpip"
	"weir/tcpip/link"
)

func main() { stackapp.Main(nil, open) }

// open makes a host: on the TAP device, or, inside, on the stack's own loopback.
func open(o stackapp.Options) (stackapp.Stack, error) {
	if o.Inside() {
		return host(tcpip.Config{}, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	tap, err := link.OpenTap(link.TapConfig{Name: o.TAP, Plain: !o.Offload, MTU: o.MTU})
	if err != nil {
		return stackapp.Stack{}, err
	}
	return host(tcpip.Config{Link: tap, Addrs: []netip.Prefix{o.Addr}}, o.Addr.Addr())
}

// host is a stack whose services are at the address.
func host(c tcpip.Config, at netip.Addr) (stackapp.Stack, error) {
	s, err := tcpip.New(c)
	if err != nil {
		return stackapp.Stack{}, err
	}
	address := func(port int) string { return net.JoinHostPort(at.String(), strconv.Itoa(port)) }
	return stackapp.Stack{
		Listen: func(port int) (net.Listener, error) { return s.Listen("tcp", address(port)) },
		Dial:   func(ctx context.Context, port int) (net.Conn, error) { return s.DialContext(ctx, "tcp", address(port)) },
		Close:  s.Close,
	}, nil
}
