package tcpip

import (
	"net/netip"
	"syscall"

	"weir/tcpip/tcp"
	"weir/wire"
)

// maxUnreachable limits the undelivered packets that wait to be reported.
const maxUnreachable = 64

// Unreachable implements neigh.Actions. The reader reports the packet to its sender later, without
// locks; the packet has the sender's port.
func (a neighActions) Unreachable(_ netip.Addr, frame []byte) {
	a.l.s.drops.add(DropNeighbour)
	if i := a.l.iface; len(i.unreachableFrames) < maxUnreachable {
		i.unreachableFrames = append(i.unreachableFrames, frame)
		a.l.requestCheck()
	}
}

// requestCheck has the reader check neighbours and fragments now.
func (l *reader) requestCheck() {
	if !l.checkRequested.Swap(true) { // the first to set it has woken the reader
		l.queue.Wake()
	}
}

// reportUnreachable reports EHOSTUNREACH to the senders of packets whose neighbour did not answer,
// as Linux does.
func (l *reader) reportUnreachable(now tcp.Time) {
	l.iface.mu.Lock()
	frames := l.iface.unreachableFrames
	l.iface.unreachableFrames = nil
	l.iface.mu.Unlock()
	for _, f := range frames {
		if v, fault := wire.ParseIPv4(f[wire.EthernetHeader:]); fault == wire.OK && v.FragmentOffset() == 0 && len(v.Payload()) >= 8 {
			l.s.notifyUnreachable(v, now)
		}
	}
}

func (s *Stack) notifyUnreachable(v wire.IPv4, now tcp.Time) {
	transport := v.Payload()
	local := netip.AddrPortFrom(v.Src(), uint16(transport[0])<<8|uint16(transport[1]))
	remote := netip.AddrPortFrom(v.Dst(), uint16(transport[2])<<8|uint16(transport[3]))
	switch v.Protocol() {
	case wire.TCPProtocol:
		if c := s.conns.get(tuple{local, remote}); c != nil {
			c.hostUnreachable(now)
		}
	case wire.UDPProtocol:
		if u := s.sockets.udpFor(local, remote); u != nil {
			u.receiveError(syscall.EHOSTUNREACH)
		}
	case wire.ICMPv4Protocol:
		s.sockets.failEcho(v.Dst(), wire.ICMP(transport), syscall.EHOSTUNREACH)
	}
}

// hostUnreachable ends a connection that is being opened. Another connection goes on: an
// unreachable host is a soft error for it.
func (c *Conn) hostUnreachable(now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreachableErr = syscall.EHOSTUNREACH
	c.tcp.HostUnreachable(now)
	c.flushLocked(now)
}
