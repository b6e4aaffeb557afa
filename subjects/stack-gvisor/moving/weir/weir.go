// Package weir has the programs of docs/moving-from-gvisor.md on Weir's stack.
//
// # Limitations
//
// Connections are relayed without a limit.
package weir

import (
	"context"
	"net"
	"net/netip"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
)

// NewStack returns a stack with an address and a default route, on a tunnel.
func NewStack(addr netip.Addr, mtu int, tunnel net.Conn) (*tcpip.Stack, error) {
	l, err := link.Over(tunnel, link.OverConfig{Medium: link.IP, MTU: mtu})
	if err != nil {
		return nil, err
	}
	return tcpip.New(tcpip.Config{
		Link:   l,
		Addrs:  []netip.Prefix{netip.PrefixFrom(addr, 32)},
		Routes: []ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0")}},
	})
}

// Dial connects.
func Dial(ctx context.Context, s *tcpip.Stack, to netip.AddrPort) (net.Conn, error) {
	return s.DialContext(ctx, "tcp", to.String())
}

// Forward passes connections to any address on.
func Forward(s *tcpip.Stack, relay func(near, far net.Conn)) {
	s.Forward(tcpip.Forwarder{TCP: func(r *tcpip.TCPRequest) {
		go func() {
			far, err := net.Dial("tcp", r.To().String())
			if err != nil {
				r.Reject(err) // the client sees refused or unreachable, as it was
				return
			}
			near, err := r.Accept(context.Background())
			if err != nil {
				far.Close()
				return
			}
			relay(near, far)
		}()
	}})
}

// ForwardDatagrams has a forwarder pass datagrams on.
func ForwardDatagrams(f *tcpip.Forwarder, relay func(near, far net.Conn)) {
	f.UDP = func(r *tcpip.UDPRequest) {
		far, err := net.Dial("udp", r.To().String()) // it does not wait
		if err != nil {
			r.Reject(err)
			return
		}
		near, err := r.Accept() // the first datagram is there to read
		if err != nil {
			far.Close()
			return
		}
		go relay(near, far)
	}
}
