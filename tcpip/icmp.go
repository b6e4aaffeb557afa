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

// icmp answers echoes, and tells of errors.
func (p *packet) icmp() layer {
	m, fault := wire.ParseICMP(p.ip.Payload())
	if fault != wire.OK || !p.good && !m.ChecksumOK() {
		return p.drop(DropICMP)
	}
	s := p.lane.s
	switch m.Type() {
	case wire.EchoRequest:
		if p.everybody {
			// nobody is to be flooded by everybody (RFC 1122, section 3.2.2.6, lets it be)
			return p.drop(DropICMP)
		}
		p.echo(m)
		return done
	case wire.EchoReply:
		s.sockets.echoed(p.ip, m)
		return done
	}
	r, ok := icmp.Read(m)
	if !ok {
		return p.drop(DropICMP)
	}
	return p.reported(r)
}

// messages are kept for the next echo. An echo's data is as long as its sender likes, so what is
// large is not.
var messages = sync.Pool{New: func() any { return new([]byte) }}

// echo answers an echo: the same data, by the same kind of service, and with what its options
// wanted to be told (RFC 1122, section 3.2.2.6).
func (p *packet) echo(m wire.ICMP) {
	f := wire.IPv4Fields{TOS: p.ip.TOS(), Protocol: wire.ICMPv4Protocol, Src: p.ip.Dst(), Dst: p.ip.Src()}
	if o := p.ip.Options(); len(o) > 0 {
		f.Options = ip.Options(o).Answer(p.ip.Dst(), uint32(time.Now().UnixMilli()%(24*time.Hour).Milliseconds()))
	}
	b := messages.Get().(*[]byte)
	*b = wire.AppendICMP((*b)[:0], wire.EchoReply, 0, m.Rest(), m.Body())
	p.lane.s.sendIP(f, *b) //nolint:errcheck // it is counted
	if cap(*b) <= 4096 {
		messages.Put(b)
	}
}

// reported takes an error about a packet of ours. One that was never sent is somebody's invention
// (RFC 5927, section 4).
func (p *packet) reported(r icmp.Report) layer {
	s := p.lane.s
	if !s.owns(r.About.Src()) || r.Problem == icmp.TooBig && !r.Possible(p.lane.iface.caps.MTU) {
		return p.drop(DropICMP)
	}
	transport := r.About[r.About.HeaderLen():]
	local := netip.AddrPortFrom(r.About.Src(), uint16(transport[0])<<8|uint16(transport[1]))
	remote := netip.AddrPortFrom(r.About.Dst(), uint16(transport[2])<<8|uint16(transport[3]))
	switch r.About.Protocol() {
	case wire.TCPProtocol:
		c := s.conns.get(tuple{local, remote})
		if c == nil || !c.reported(r, wire.Seq(uint32(transport[4])<<24|uint32(transport[5])<<16|uint32(transport[6])<<8|uint32(transport[7])), p.now) {
			return p.drop(DropICMP)
		}
	case wire.UDPProtocol:
		u := s.sockets.udpFor(local, remote)
		if u == nil || r.Problem == icmp.TooBig && !u.whole.Load() {
			return p.drop(DropICMP)
		}
		if r.Problem == icmp.TooBig {
			s.tooBig(remote.Addr(), r.Length, r.NextMTU, p.now)
		}
		u.reported(errorOf(r.Problem))
	case wire.ICMPv4Protocol:
		if !s.sockets.unechoed(remote.Addr(), wire.ICMP(transport), errorOf(r.Problem)) {
			return p.drop(DropICMP)
		}
	default:
		return p.drop(DropICMP)
	}
	return done
}

// errorOf is what an application is told.
func errorOf(p icmp.Problem) error {
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
