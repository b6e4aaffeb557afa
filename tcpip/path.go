package tcpip

import (
	"net/netip"
	"syscall"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/tcp"
	"weir/wire"
)

// pathMTU returns the path MTU to an address, and whether packets must allow fragmentation because
// it is very small.
func (s *Stack) pathMTU(dst netip.Addr, i *iface) (mtu int, fragmentable bool) {
	if i.loopback || s.narrowPaths.Load() == 0 {
		return i.caps.MTU, false
	}
	s.pathsMu.Lock()
	defer s.pathsMu.Unlock()
	defer func() { s.narrowPaths.Store(int32(s.paths.Len())) }()
	return s.paths.MTU(dst, i.caps.MTU, ip.Time(s.now()))
}

// recordPTB records a Packet Too Big and returns the new path MTU.
func (s *Stack) recordPTB(dst netip.Addr, length, next int, now tcp.Time) int {
	s.pathsMu.Lock()
	defer s.pathsMu.Unlock()
	defer func() { s.narrowPaths.Store(int32(s.paths.Len())) }()
	return s.paths.TooBig(dst, length, next, ip.Time(now))
}

// updatePathMTULocked applies the path MTU to the connection, and schedules a check for when it
// expires. The caller holds mu.
func (c *Conn) updatePathMTULocked(now tcp.Time) {
	mtu, fragmentable := c.s.pathMTU(c.key.remote.Addr(), c.iface)
	c.fragmentable = fragmentable
	c.tcp.SetPathMTU(now, mtu)
	c.pathCheckAt = 0
	if mtu < c.iface.caps.MTU {
		c.pathCheckAt = now.Add(ip.PathMTUTimeout)
	}
}

// pendingPTB is a Packet Too Big that has not been validated.
type pendingPTB struct {
	// length of the dropped packet, and the next hop's MTU; 0: the router did not say
	packetLength, nextMTU int
	seq                   wire.Seq
	receivedAt            tcp.Time // when the message arrived
}

// validatePTBLocked applies a pending Packet Too Big, drops it, or keeps it pending. It applies at
// once unless a larger packet is known to have been delivered. Then it applies only after the
// quoted segment has gone unacknowledged for an RTO (RFC 5927, section 7.2). The caller holds mu.
func (c *Conn) validatePTBLocked(now tcp.Time) {
	switch d := c.pendingPTB; {
	case !c.tcp.InFlight(d.seq):
		c.pendingPTB = nil // the segment was acknowledged: the message was wrong
	case d.nextMTU >= c.tcp.LargestDeliveredPacket(), c.tcp.UnackedForRTO(now, d.receivedAt):
		c.pendingPTB = nil
		c.s.recordPTB(c.key.remote.Addr(), d.packetLength, d.nextMTU, now)
		c.updatePathMTULocked(now)
	}
}

// receiveICMPError handles an ICMP error that quotes a segment of the connection, and reports
// whether it is plausible: the quoted sequence number must be in flight (RFC 5927, section 4.1).
func (c *Conn) receiveICMPError(r icmp.ErrorReport, seq wire.Seq, now tcp.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tcp.InFlight(seq) {
		return false
	}
	switch {
	case r.Problem == icmp.TooBig:
		if c.pendingPTB == nil {
			c.pendingPTB = &pendingPTB{r.PacketLen, r.NextMTU, seq, now}
		}
		c.flushLocked(now)
	case c.tcp.State() == tcp.SynSent && (r.Problem == icmp.PortUnreachable || r.Problem == icmp.ProtocolUnreachable):
		c.softError = syscall.ECONNREFUSED
		c.tcp.HostUnreachable(now)
		c.flushLocked(now)
	default:
		// a soft error does not end a connection (RFC 5461, section 4)
		c.softError = errnoOf(r.Problem)
	}
	return true
}
