package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"weir/subjects/internal/stackapp"
)

// Buffers of a connection, in bytes.
const (
	firstBuffer = 1 << 20 // initial size, netstack's own
	mostBuffer  = 8 << 20 // largest size that auto-tuning may reach
)

// nic is the number of the only interface.
const nic tcpip.NICID = 1

// host is a netstack.
type host struct {
	stack    *stack.Stack
	address  tcpip.Address
	protocol tcpip.NetworkProtocolNumber // of address: IPv4 or IPv6
}

// linkAddress is the interface's MAC address on a device.
const linkAddress tcpip.LinkAddress = "\x02\x00\x00\x77\x00\x02"

// open makes a host with a link of a kind, "reader" or "channel": on the TAP device, or, inside, on
// netstack's own loopback. The device is closed at the end of the process.
func open(o stackapp.Options, kind string) (stackapp.Stack, error) {
	h := &host{address: tcpip.AddrFromSlice(o.Addr.Addr().AsSlice()), protocol: ipv4.ProtocolNumber}
	if o.Addr.Addr().Is6() {
		h.protocol = ipv6.ProtocolNumber
	}
	h.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
		HandleLocal:        true,
	})
	if err := h.tune(); err != nil {
		return stackapp.Stack{}, err
	}
	link := loopback.New()
	if !o.Inside() {
		t, err := openTap(o.TAP, o.Offload)
		if err != nil {
			return stackapp.Stack{}, err
		}
		if kind == "channel" {
			link = channelLink(t, o.MTU, linkAddress)
		} else {
			link = &tapLink{tap: t, mtu: uint32(o.MTU), address: linkAddress}
		}
	}
	return stackapp.Stack{Listen: h.listen, Dial: h.dial}, h.attach(link, o.Addr.Bits())
}

func (h *host) attach(link stack.LinkEndpoint, bits int) error {
	if err := h.stack.CreateNIC(nic, link); err != nil {
		return errors.New(err.String())
	}
	own := tcpip.ProtocolAddress{Protocol: h.protocol, AddressWithPrefix: tcpip.AddressWithPrefix{Address: h.address, PrefixLen: bits}}
	if err := h.stack.AddProtocolAddress(nic, own, stack.AddressProperties{}); err != nil {
		return errors.New(err.String())
	}
	h.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	return nil
}

// tune sets the options that an experienced user of netstack sets.
func (h *host) tune() error {
	sack, moderate, cubic := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(true), tcpip.CongestionControlOption("cubic")
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: firstBuffer, Max: mostBuffer}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: firstBuffer, Max: mostBuffer}
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &cubic, &receive, &send} {
		if err := h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("setting %T: %v", o, err)
		}
	}
	return nil
}

// backlog is how many connections may wait to be accepted, as with the other stacks.
const backlog = 4096

func (h *host) listen(port int) (net.Listener, error) {
	var queue waiter.Queue
	end, err := h.stack.NewEndpoint(tcp.ProtocolNumber, h.protocol, &queue)
	if err == nil {
		err = end.Bind(tcpip.FullAddress{NIC: nic, Addr: h.address, Port: uint16(port)})
	}
	if err == nil {
		err = end.Listen(backlog)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on port %d: %v", port, err)
	}
	return listener{gonet.NewTCPListener(h.stack, &queue, end)}, nil
}

// listener adds that Close ends a waiting Accept.
type listener struct{ *gonet.TCPListener }

func (l listener) Close() error {
	l.Shutdown()
	return l.TCPListener.Close()
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c.(*gonet.TCPConn)}, nil
}

// conn adds that Close ends a waiting Read and Write, as net.Conn requires: netstack's conn leaves
// them waiting.
type conn struct{ *gonet.TCPConn }

func (c conn) Close() error {
	c.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // it has none
	return c.TCPConn.Close()
}

func (h *host) dial(ctx context.Context, port int) (net.Conn, error) {
	return gonet.DialContextTCP(ctx, h.stack, tcpip.FullAddress{NIC: nic, Addr: h.address, Port: uint16(port)}, h.protocol)
}
