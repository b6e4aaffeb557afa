package tcpip

import (
	"net/netip"
	"syscall"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/tcp"
	"weir/wire"
)

// mtu is how large a packet for an address may be, and whether somebody on the way has to be allowed to cut it.
func (s *Stack) mtu(dst netip.Addr, i *iface) (mtu int, cut bool) {
	if i.local || s.narrow.Load() == 0 {
		return i.caps.MTU, false
	}
	s.pathsMu.Lock()
	defer s.pathsMu.Unlock()
	defer func() { s.narrow.Store(int32(s.paths.Len())) }()
	return s.paths.MTU(dst, i.caps.MTU, ip.Time(s.now()))
}

// tooBig remembers how large packets may be, and says so.
func (s *Stack) tooBig(dst netip.Addr, r icmp.Report, now tcp.Time) int {
	s.pathsMu.Lock()
	defer s.pathsMu.Unlock()
	defer func() { s.narrow.Store(int32(s.paths.Len())) }()
	return s.paths.TooBig(dst, r.Length, r.NextMTU, ip.Time(now))
}

// measure has segments be as large as the path is known to take, and looks again when that may have changed.
func (c *Conn) measure(now tcp.Time) {
	mtu, cut := c.s.mtu(c.key.remote.Addr(), c.iface)
	c.cut = cut
	c.tcp.SetPathMTU(now, mtu)
	c.measureAt = 0
	if mtu < c.iface.caps.MTU {
		c.measureAt = now.Add(ip.PathTime)
	}
}

// reported takes what the network says of a packet of the connection's, and says whether that can be true: the sequence number has to be of what is
// under way (RFC 5927, section 4.1).
func (c *Conn) reported(r icmp.Report, seq wire.Seq, now tcp.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tcp.UnderWay(seq) {
		return false
	}
	switch {
	case r.Problem == icmp.TooBig:
		c.s.tooBig(c.key.remote.Addr(), r, now)
		c.measure(now)
		c.flush(now)
	case c.tcp.State() == tcp.SynSent && (r.Problem == icmp.PortUnreachable || r.Problem == icmp.ProtocolUnreachable):
		c.soft = syscall.ECONNREFUSED
		c.tcp.Unreachable(now)
		c.flush(now)
	default:
		c.soft = errorOf(r.Problem) // a connection outlives it (RFC 5461, section 4)
	}
	return true
}
