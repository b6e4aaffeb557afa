package tcpip

import (
	"net/netip"
	"syscall"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/tcp"
	"weir/wire"
)

// mtu is how large a packet for an address may be, and whether somebody on the way has to be
// allowed to cut it.
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
func (s *Stack) tooBig(dst netip.Addr, length, next int, now tcp.Time) int {
	s.pathsMu.Lock()
	defer s.pathsMu.Unlock()
	defer func() { s.narrow.Store(int32(s.paths.Len())) }()
	return s.paths.TooBig(dst, length, next, ip.Time(now))
}

// measure has segments be as large as the path is known to take, and looks again when that may have
// changed.
func (c *Conn) measure(now tcp.Time) {
	mtu, cut := c.s.mtu(c.key.remote.Addr(), c.iface)
	c.cut = cut
	c.tcp.SetPathMTU(now, mtu)
	c.measureAt = 0
	if mtu < c.iface.caps.MTU {
		c.measureAt = now.Add(ip.PathTime)
	}
}

// doubt is what the network has told of a packet that was too big, and that is not believed yet.
type doubt struct {
	length, next int // of the packet, and what would not be too big; 0: it was not said
	seq          wire.Seq
	at           tcp.Time // when it was told
}

// decide believes that a path takes less than it did, or does not. As long as nothing so large has
// come through there is no reason not to believe it; otherwise the packet has to be one that is not
// acknowledged within a retransmission time (RFC 5927, section 7.2). The caller holds mu.
func (c *Conn) decide(now tcp.Time) {
	switch d := c.doubted; {
	case !c.tcp.InFlight(d.seq):
		c.doubted = nil // it has come
	case d.next >= c.tcp.LargestDeliveredPacket(), c.tcp.UnackedForRTO(now, d.at):
		c.doubted = nil
		c.s.tooBig(c.key.remote.Addr(), d.length, d.next, now)
		c.measure(now)
	}
}

// reported takes what the network says of a packet of the connection's, and says whether that can
// be true: the sequence number has to be of what is under way (RFC 5927, section 4.1).
func (c *Conn) reported(r icmp.Report, seq wire.Seq, now tcp.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tcp.InFlight(seq) {
		return false
	}
	switch {
	case r.Problem == icmp.TooBig:
		if c.doubted == nil {
			c.doubted = &doubt{r.Length, r.NextMTU, seq, now}
		}
		c.flush(now)
	case c.tcp.State() == tcp.SynSent && (r.Problem == icmp.PortUnreachable || r.Problem == icmp.ProtocolUnreachable):
		c.soft = syscall.ECONNREFUSED
		c.tcp.HostUnreachable(now)
		c.flush(now)
	default:
		c.soft = errorOf(r.Problem) // a connection outlives it (RFC 5461, section 4)
	}
	return true
}
