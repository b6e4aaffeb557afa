package tcpip

import (
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
	m, fault := wire.ParseICMP(p.ip.Payload())
	if fault != wire.OK || !p.checksumOK && !m.ChecksumOK() {
		return p.drop(DropICMP)
	}
	s := p.reader.s
	switch m.Type() {
	case wire.EchoRequest:
		if p.broadcast {
			// an answer would amplify broadcasts (RFC 1122, section 3.2.2.6, allows to drop it)
			return p.drop(DropICMP)
		}
		p.answerEcho(m)
		return consumed
	case wire.EchoReply:
		s.sockets.deliverEchoReply(p.ip, m)
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
	f := wire.IPv4Fields{TOS: p.ip.TOS(), Protocol: wire.ICMPv4Protocol, Src: p.ip.Dst(), Dst: p.ip.Src()}
	if o := p.ip.Options(); len(o) > 0 {
		f.Options = ip.Options(o).EchoReply(p.ip.Dst(), uint32(time.Now().UnixMilli()%(24*time.Hour).Milliseconds()))
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
	s := p.reader.s
	if !s.owns(r.Quoted.Src()) || r.Problem == icmp.TooBig && !r.Plausible(p.reader.iface.caps.MTU) {
		return p.drop(DropICMP)
	}
	transport := r.Quoted[r.Quoted.HeaderLen():]
	local := netip.AddrPortFrom(r.Quoted.Src(), uint16(transport[0])<<8|uint16(transport[1]))
	remote := netip.AddrPortFrom(r.Quoted.Dst(), uint16(transport[2])<<8|uint16(transport[3]))
	switch r.Quoted.Protocol() {
	case wire.TCPProtocol:
		c := s.conns.get(tuple{local, remote})
		if c == nil || !c.receiveICMPError(r, wire.Seq(uint32(transport[4])<<24|uint32(transport[5])<<16|uint32(transport[6])<<8|uint32(transport[7])), p.now) {
			return p.drop(DropICMP)
		}
	case wire.UDPProtocol:
		u := s.sockets.udpFor(local, remote)
		if u == nil || r.Problem == icmp.TooBig && !u.dontFragment.Load() {
			return p.drop(DropICMP)
		}
		if r.Problem == icmp.TooBig {
			s.recordPTB(remote.Addr(), r.PacketLen, r.NextMTU, p.now)
		}
		u.receiveError(errnoOf(r.Problem))
	case wire.ICMPv4Protocol:
		if !s.sockets.failEcho(remote.Addr(), wire.ICMP(transport), errnoOf(r.Problem)) {
			return p.drop(DropICMP)
		}
	default:
		return p.drop(DropICMP)
	}
	return consumed
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
	}
	return syscall.EHOSTUNREACH
}
