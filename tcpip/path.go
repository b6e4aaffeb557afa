package tcpip

import (
	"net/netip"
	"syscall"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/tcp"
	"weir/wire"
)

// pathMTU returns the path MTU to an address by interface i. fragmentable says that the path MTU is
// below the minimum that the stack uses: packets must then allow fragmentation.
func (s *Stack) pathMTU(dst netip.Addr, i *iface) (mtu int, fragmentable bool) {
	link := i.mtuTo(dst)
	if i.loopback || s.narrowPaths.Load() == 0 {
		return link, false
	}
	s.pathsMu.Lock()
	defer s.pathsMu.Unlock()
	defer func() { s.narrowPaths.Store(int32(s.paths.Len())) }()
	return s.paths.MTU(dst, link, ip.Time(s.now()))
}

// recordPTB records a Packet Too Big and returns the new path MTU.
func (s *Stack) recordPTB(dst netip.Addr, length, next int, now tcp.Time) int {
	s.pathsMu.Lock()
	defer s.pathsMu.Unlock()
	defer func() { s.narrowPaths.Store(int32(s.paths.Len())) }()
	return s.paths.TooBig(dst, length, next, ip.Time(now))
}

// updatePathMTULocked applies the path MTU to the connection. If it is below the link's MTU,
// updatePathMTULocked schedules a check for when the path MTU expires. The caller holds mu.
func (c *Conn) updatePathMTULocked(now tcp.Time) {
	mtu, fragmentable := c.s.pathMTU(c.key.remote.Addr(), c.iface)
	c.fragmentable = fragmentable
	c.tcp.LimitSegments(now, mtu-ipHeaderLen(c.key.remote.Addr()))
	c.pathCheckAt = 0
	if mtu < c.iface.caps.MTU {
		c.pathCheckAt = now.Add(ip.PathMTUTimeout)
	}
}

// applyPathMTULocked applies the path MTU to a new connection. The caller holds mu.
func (c *Conn) applyPathMTULocked(now tcp.Time) {
	if c.s.narrowPaths.Load() != 0 || c.iface.mtu6.Load() != 0 || int(c.iface.mtu.Load()) < c.iface.caps.MTU {
		c.updatePathMTULocked(now)
	}
}

// pendingPTB is a Packet Too Big that has not been validated.
type pendingPTB struct {
	packetLength int      // length of the dropped packet in bytes
	nextMTU      int      // the next hop's MTU in bytes; 0: the router did not report it
	seq          wire.Seq // first sequence number of the segment that the message quotes
	receivedAt   tcp.Time // when the message arrived
}

// validatePTBLocked applies c.pendingPTB, which must not be nil, drops it, or keeps it pending. The
// message is dropped if the quoted segment has been acknowledged. It is applied at once unless a
// larger packet than nextMTU is known to have been delivered. In that case the message is applied
// only after the quoted segment has gone unacknowledged for an RTO (RFC 5927, section 7.2). A
// nextMTU of 0 is smaller than every delivered packet. The caller holds mu.
func (c *Conn) validatePTBLocked(now tcp.Time) {
	switch d := c.pendingPTB; {
	case !c.tcp.InFlight(d.seq):
		c.pendingPTB = nil // the segment was acknowledged: the message was wrong
	case d.nextMTU >= c.largestDeliveredLocked(), c.tcp.UnackedForRTO(now, d.receivedAt):
		c.pendingPTB = nil
		c.s.recordPTB(c.key.remote.Addr(), d.packetLength, d.nextMTU, now)
		c.updatePathMTULocked(now)
	}
}

// largestDeliveredLocked is the size of the largest packet of the connection that the peer has
// received, in bytes; 0: none with data. The caller holds mu.
func (c *Conn) largestDeliveredLocked() int {
	if n := c.tcp.LargestDelivered(); n > 0 {
		return n + ipHeaderLen(c.key.remote.Addr())
	}
	return 0
}

// ipHeaderLen is the length of an IP header without options or extensions in packets to dst.
func ipHeaderLen(dst netip.Addr) int {
	if dst.Is4() {
		return wire.IPv4Header
	}
	return wire.IPv6Header
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
		if c.pendingPTB == nil { // a second message is ignored while one is pending
			c.pendingPTB = &pendingPTB{r.Len, r.NextMTU, seq, now}
		}
		c.flushLocked(now) // validates the message
	case c.tcp.State() == tcp.SynSent && (r.Problem == icmp.PortUnreachable || r.Problem == icmp.ProtocolUnreachable):
		c.unreachableErr = syscall.ECONNREFUSED
		c.tcp.HostUnreachable(now)
		c.flushLocked(now)
	default:
		// A soft error does not end a connection (RFC 5461, section 4). The application gets it
		// only if the connection times out later.
		c.unreachableErr = errnoOf(r.Problem)
	}
	return true
}
