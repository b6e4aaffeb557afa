package netsim

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"weir/wire"
)

// flow is one direction of a connection, as a packet shows it. The ports of an ICMP echo are its
// identifier.
type flow struct {
	protocol wire.Protocol
	src, dst netip.AddrPort
}

func (f flow) reversed() flow { return flow{f.protocol, f.dst, f.src} }

// flowOf returns the flow of a packet, and its transport header with the payload. An ICMP error
// belongs to the flow of the packet that it quotes. ok is false for a packet without ports.
func flowOf(b []byte) (f flow, transport []byte, ok bool) {
	f.protocol, f.src, f.dst, transport, ok = splitIP(b)
	if !ok {
		return f, nil, false
	}
	switch at := f.protocol; {
	case at == wire.TCPProtocol || at == wire.UDPProtocol:
		return f.withPorts(binary.BigEndian.Uint16(transport), binary.BigEndian.Uint16(transport[2:])), transport, true
	case isICMP(at) && isEcho(at, transport[0]):
		id := binary.BigEndian.Uint16(transport[4:])
		return f.withPorts(id, id), transport, true
	case isICMP(at) && isICMPError(at, transport[0]):
		if quoted, _, ok := flowOf(transport[wire.ICMPHeader:]); ok && !isICMP(quoted.protocol) {
			return quoted, transport, true
		}
	}
	return f, transport, false
}

func (f flow) withPorts(src, dst uint16) flow {
	return flow{f.protocol, netip.AddrPortFrom(f.src.Addr(), src), netip.AddrPortFrom(f.dst.Addr(), dst)}
}

// splitIP splits a packet, which may be cut off as in an ICMP error. ok is false if it has less
// than eight bytes of transport, or is a fragment that is not the first.
func splitIP(b []byte) (p wire.Protocol, src, dst netip.AddrPort, transport []byte, ok bool) {
	header := wire.IPv6Header
	if len(b) > 0 && b[0]>>4 == 4 {
		header = 4 * int(b[0]&15)
	}
	if header < wire.IPv4Header || len(b) < header+wire.ICMPHeader {
		return p, src, dst, nil, false
	}
	var addrs []byte
	if b[0]>>4 == 4 {
		addrs, p = b[12:20], wire.Protocol(b[9])
		if wire.IPv4(b).FragmentOffset() > 0 {
			return p, src, dst, nil, false
		}
	} else {
		addrs, p = b[8:40], wire.Protocol(b[6])
	}
	a, _ := netip.AddrFromSlice(addrs[:len(addrs)/2])
	c, _ := netip.AddrFromSlice(addrs[len(addrs)/2:])
	return p, netip.AddrPortFrom(a, 0), netip.AddrPortFrom(c, 0), b[header:], true
}

func isICMP(p wire.Protocol) bool { return p == wire.ICMPv4Protocol || p == wire.ICMPv6Protocol }

func isEcho(p wire.Protocol, kind byte) bool {
	if p == wire.ICMPv6Protocol {
		return wire.ICMPv6Type(kind) == wire.EchoRequest6 || wire.ICMPv6Type(kind) == wire.EchoReply6
	}
	return wire.ICMPType(kind) == wire.EchoRequest || wire.ICMPType(kind) == wire.EchoReply
}

// isICMPError reports whether messages of a type quote a packet.
func isICMPError(p wire.Protocol, kind byte) bool {
	if p == wire.ICMPv6Protocol {
		return kind < 128
	}
	t := wire.ICMPType(kind)
	return t == wire.Unreachable || t == wire.TimeExceeded || t == wire.ParameterProblem
}

// connection is a connection in a trace, or what corresponds to it in other protocols. Its ends are
// 0, which has sent first, and 1.
type connection struct {
	name  string
	hosts [2]string    // the ends; "" is not known
	ends  [2]streamEnd // of TCP
}

// streamEnd is what one end of a TCP connection has sent.
type streamEnd struct {
	started bool
	first   uint32 // the sequence number of the SYN, or of the first segment that was seen
	next    uint32 // the sequence number behind what was sent
}

// connections finds the connections of a trace. Packets must come in the order of the trace.
type connections struct {
	all   []*connection
	flows map[flow]flowEnd
	names map[netip.Addr]string // of the hosts
}

// flowEnd is the end of a connection that sends a flow; number is the connection's.
type flowEnd struct{ number, end int }

// none is the number of the connection of packets that have none.
const none = -1

// sent returns the connection of a packet that a host has sent, and its end. With a SYN of another
// sequence number, a flow starts another connection.
func (c *connections) sent(host string, b []byte) flowEnd {
	f, transport, ok := flowOf(b)
	if !ok {
		return flowEnd{none, 0}
	}
	e, known := c.flows[f]
	if known && f.protocol == wire.TCPProtocol && c.isNewSYN(e, b, transport) {
		known = false
	}
	if !known {
		e = flowEnd{len(c.all), 0}
		c.all = append(c.all, &connection{name: fmt.Sprintf("%s %s > %s", f.protocolName(), c.endpoint(f.src), c.endpoint(f.dst)), hosts: [2]string{host, c.names[f.dst.Addr()]}})
		c.learn(f, e)
	}
	return e
}

func (c *connections) isNewSYN(e flowEnd, b, transport []byte) bool {
	if p, _, _, _, _ := splitIP(b); p != wire.TCPProtocol {
		return false // an ICMP error about the connection
	}
	s, fault := wire.ParseTCP(transport)
	if fault != wire.OK || s.Flags()&(wire.SYN|wire.ACK) != wire.SYN {
		return false
	}
	end := c.all[e.number].ends[e.end]
	return end.started && end.first != uint32(s.Seq())
}

// delivered notes how a packet of an end has reached a host: a NAT may have changed its addresses.
func (c *connections) delivered(e flowEnd, host string, b []byte) {
	p, _, _, _, _ := splitIP(b)
	f, _, ok := flowOf(b)
	if !ok || e.number == none || p != f.protocol {
		return
	}
	c.learn(f, e)
	c.all[e.number].hosts[1-e.end] = host
}

// learn notes the end that sends a flow, and the one that answers.
func (c *connections) learn(f flow, e flowEnd) {
	c.flows[f], c.flows[f.reversed()] = e, flowEnd{e.number, 1 - e.end}
}

// endpoint is an address with the host's name, if it is one.
func (c *connections) endpoint(a netip.AddrPort) string {
	if name := c.names[a.Addr()]; name != "" {
		return fmt.Sprintf("%s:%d", name, a.Port())
	}
	return a.String()
}

func (f flow) protocolName() string {
	switch f.protocol {
	case wire.TCPProtocol:
		return "TCP"
	case wire.UDPProtocol:
		return "UDP"
	}
	return "ICMP"
}
