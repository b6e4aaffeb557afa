// Package gvisor has the programs of docs/moving-from-gvisor.md on gVisor's netstack.
//
// # Limitations
//
// Errors of writing to the tunnel are ignored, and connections are relayed without a limit.
package gvisor

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// NewStack returns a stack with an address and a default route, and its link.
func NewStack(addr netip.Addr, mtu int) (*stack.Stack, *channel.Endpoint, error) {
	link := channel.New(1024, uint32(mtu), "")
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
	})
	sack := tcpip.TCPSACKEnabled(true)
	s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)
	if err := s.CreateNIC(1, link); err != nil {
		return nil, nil, fmt.Errorf("making an interface: %v", err)
	}
	own := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddrFrom4(addr.As4()).WithPrefix()}
	if err := s.AddProtocolAddress(1, own, stack.AddressProperties{}); err != nil {
		return nil, nil, fmt.Errorf("adding the address: %v", err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	return s, link, nil
}

// Packets moves packets between a link and a tunnel.
func Packets(ctx context.Context, link *channel.Endpoint, tunnel net.Conn) {
	go func() {
		for {
			p := link.ReadContext(ctx)
			if p == nil {
				return
			}
			tunnel.Write(p.ToView().AsSlice())
			p.DecRef()
		}
	}()
	b := make([]byte, 65535)
	for {
		n, err := tunnel.Read(b)
		if err != nil {
			return
		}
		protocol := header.IPv4ProtocolNumber
		if b[0]>>4 == 6 {
			protocol = header.IPv6ProtocolNumber
		}
		p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b[:n])})
		link.InjectInbound(protocol, p)
		p.DecRef()
	}
}

// Dial connects.
func Dial(ctx context.Context, s *stack.Stack, to netip.AddrPort) (net.Conn, error) {
	addr := tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFromSlice(to.Addr().AsSlice()), Port: to.Port()}
	protocol := ipv4.ProtocolNumber
	if to.Addr().Is6() {
		protocol = ipv6.ProtocolNumber
	}
	return gonet.DialContextTCP(ctx, s, addr, protocol)
}

// Forward passes connections to any address on.
func Forward(s *stack.Stack, relay func(near, far net.Conn)) {
	s.SetPromiscuousMode(1, true)
	s.SetSpoofing(1, true)
	f := tcp.NewForwarder(s, 0, 1024, func(r *tcp.ForwarderRequest) {
		id := r.ID()
		to := net.JoinHostPort(id.LocalAddress.String(), fmt.Sprint(id.LocalPort))
		far, err := net.Dial("tcp", to)
		if err != nil {
			r.Complete(true) // whatever it was, the client sees a reset
			return
		}
		var queue waiter.Queue
		end, tcpErr := r.CreateEndpoint(&queue)
		if tcpErr != nil {
			r.Complete(true)
			far.Close()
			return
		}
		r.Complete(false)
		go relay(gonet.NewTCPConn(&queue, end), far)
	})
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, f.HandlePacket)
}

// ForwardDatagrams passes datagrams to any address on.
func ForwardDatagrams(s *stack.Stack, relay func(near, far net.Conn)) {
	f := udp.NewForwarder(s, func(r *udp.ForwarderRequest) (handled bool) {
		id := r.ID()
		far, err := net.Dial("udp", net.JoinHostPort(id.LocalAddress.String(), fmt.Sprint(id.LocalPort)))
		if err != nil {
			return false
		}
		var queue waiter.Queue
		end, udpErr := r.CreateEndpoint(&queue)
		if udpErr != nil {
			far.Close()
			return false
		}
		go relay(gonet.NewUDPConn(&queue, end), far)
		return true
	})
	s.SetTransportProtocolHandler(udp.ProtocolNumber, f.HandlePacket)
}
