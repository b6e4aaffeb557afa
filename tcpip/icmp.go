package tcpip

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/wire"
)

// icmp answers echo requests and passes errors on to the sockets that they concern.
func (p *packet) icmp() layer {
	switch {
	case p.dst.Is6():
		return p.icmp6()
	case p.protocol == wire.IGMPProtocol:
		return p.igmp()
	}
	m, fault := wire.ParseICMP(p.payload)
	if fault != wire.OK || !p.checksumOK && !m.ChecksumOK() {
		return p.drop(DropICMP)
	}
	s := p.reader.s
	switch m.Type() {
	case wire.EchoRequest:
		if p.forwarded {
			return p.forwardEcho(m.RestOfHeader(), m.Body())
		}
		if p.broadcast {
			// an answer would amplify broadcasts (RFC 1122, section 3.2.2.6, allows to drop it)
			return p.drop(DropICMP)
		}
		p.answerEcho(m)
		return consumed
	case wire.EchoReply:
		s.sockets.deliverEchoReply(p.src, m.EchoID(), m.Body())
		return consumed
	}
	r, ok := icmp.ParseError(m)
	if !ok {
		return p.drop(DropICMP)
	}
	return p.receiveError(r)
}

// messagePool keeps echo replies for reuse, unless they are large: their sender chooses the size.
var messagePool = sync.Pool{New: func() any { return new([]byte) }}

// answerEcho sends an echo reply: the same data, the same TOS, and an answer to the options of the
// request (RFC 1122, section 3.2.2.6).
func (p *packet) answerEcho(m wire.ICMP) {
	f := outgoingPacket{tos: p.tos, protocol: wire.ICMPv4Protocol, src: p.dst, dst: p.src}
	if o := wire.IPv4(p.ip).Options(); len(o) > 0 {
		f.options = ip.Options(o).EchoReply(p.dst, uint32(time.Now().UnixMilli()%(24*time.Hour).Milliseconds()))
	}
	b := messagePool.Get().(*[]byte)
	*b = wire.AppendICMP((*b)[:0], wire.EchoReply, 0, m.RestOfHeader(), m.Body())
	p.reader.s.sendIP(f, *b) //nolint:errcheck // it is counted
	if cap(*b) <= 4096 {
		messagePool.Put(b)
	}
}

// receiveError handles an ICMP error. It is dropped as spoofed unless it quotes a packet that the
// stack can have sent (RFC 5927, section 4).
func (p *packet) receiveError(r icmp.ErrorReport) layer {
	s, caps := p.reader.s, &p.reader.iface.caps
	if r.Len <= caps.Superframe { // a neighbour that has got a superframe quotes it as it is
		r.Len = min(r.Len, caps.MTU)
	}
	if !s.owns(r.Src) && s.forwarding.Load() == nil || r.Problem == icmp.TooBig && !r.Plausible(caps.MTU) {
		return p.drop(DropICMP)
	}
	local, remote := portsOf(r.Src, r.Dst, r.Transport)
	switch r.Protocol {
	case wire.TCPProtocol:
		c := s.conns.get(tuple{local, remote})
		if c == nil || !c.receiveICMPError(r, wire.Seq(binary.BigEndian.Uint32(r.Transport[4:8])), p.now) {
			return p.drop(DropICMP)
		}
	case wire.UDPProtocol:
		u := s.sockets.udpFor(p.reader.iface, local, remote)
		if u == nil || r.Problem == icmp.TooBig && !u.dontFragment.Load() {
			return p.drop(DropICMP)
		}
		if r.Problem == icmp.TooBig {
			s.recordPTB(remote.Addr(), r.Len, r.NextMTU, p.now)
		}
		u.receiveError(errnoOf(r.Problem))
	case icmpProtocol(r.Dst):
		if !s.sockets.failEcho(remote.Addr(), r.Transport, errnoOf(r.Problem)) {
			return p.drop(DropICMP)
		}
	default:
		return p.drop(DropICMP)
	}
	return consumed
}

// portsOf returns the addresses and ports of a packet whose payload starts with transport.
func portsOf(src, dst netip.Addr, transport []byte) (from, to netip.AddrPort) {
	return netip.AddrPortFrom(src, binary.BigEndian.Uint16(transport)), netip.AddrPortFrom(dst, binary.BigEndian.Uint16(transport[2:]))
}

// errnoOf returns the error for the application.
func errnoOf(p icmp.Problem) error {
	switch p {
	case icmp.PortUnreachable, icmp.ProtocolUnreachable:
		return syscall.ECONNREFUSED
	case icmp.NetUnreachable:
		return syscall.ENETUNREACH
	case icmp.TooBig:
		return syscall.EMSGSIZE
	case icmp.Prohibited:
		return syscall.EACCES
	case icmp.BadHeader, icmp.UnknownOption, icmp.IncompleteChain, icmp.UnknownError:
		return syscall.EPROTO
	}
	return syscall.EHOSTUNREACH
}
