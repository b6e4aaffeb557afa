package tcpip

import (
	"net/netip"
	"syscall"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/tcp"
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
			return p.drop(DropICMP) // nobody is to be flooded by everybody (RFC 1122, section 3.2.2.6, lets it be)
		}
		s.sendIP(wire.IPv4Fields{TOS: p.ip.TOS(), Protocol: wire.ICMPv4Protocol, Src: p.ip.Dst(), Dst: p.ip.Src()}, //nolint:errcheck // it is counted
			wire.AppendICMP(nil, wire.EchoReply, 0, m.Rest(), m.Body()))
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

// reported takes an error about a packet of ours. One that was never sent is somebody's invention (RFC 5927, section 4).
func (p *packet) reported(r icmp.Report) layer {
	s := p.lane.s
	if !s.owns(r.About.Src()) {
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
		if r.Problem == icmp.TooBig {
			s.tooBig(remote.Addr(), r, p.now)
		}
		if !s.sockets.reported(local, remote, errorOf(r.Problem)) {
			return p.drop(DropICMP)
		}
	}
	return done
}

// tooBig remembers how large packets may be, and says so.
func (s *Stack) tooBig(dst netip.Addr, r icmp.Report, now tcp.Time) int {
	s.pathsMu.Lock()
	defer s.pathsMu.Unlock()
	return s.paths.TooBig(dst, r.Length, r.NextMTU, ip.Time(now))
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
