package tcpip

import (
	"net/netip"
	"syscall"

	"weir/tcpip/tcp"
	"weir/wire"
)

// unreachedMost is how many packets may wait to be reported as not delivered.
const unreachedMost = 64

// Unreachable implements neigh.Actions. Who sent the packet is told by the reader, which holds no
// locks: its name is in the packet.
func (a actions) Unreachable(_ netip.Addr, frame []byte) {
	a.l.s.drops.add(DropNeighbour)
	if i := a.l.iface; len(i.unreached) < unreachedMost {
		i.unreached = append(i.unreached, frame)
		a.l.look()
	}
}

// look has the reader look at neighbours and fragments now.
func (l *lane) look() {
	if !l.looking.Swap(true) { // who set it before has woken it
		l.q.Wake()
	}
}

// unreached tells those whose packets waited for a neighbour in vain, as Linux does.
func (l *lane) unreached(now tcp.Time) {
	l.iface.mu.Lock()
	frames := l.iface.unreached
	l.iface.unreached = nil
	l.iface.mu.Unlock()
	for _, f := range frames {
		if v, fault := wire.ParseIPv4(f[wire.EthernetHeader:]); fault == wire.OK && v.FragmentOffset() == 0 && len(v.Payload()) >= 8 {
			l.s.unreached(v, now)
		}
	}
}

func (s *Stack) unreached(v wire.IPv4, now tcp.Time) {
	transport := v.Payload()
	local := netip.AddrPortFrom(v.Src(), uint16(transport[0])<<8|uint16(transport[1]))
	remote := netip.AddrPortFrom(v.Dst(), uint16(transport[2])<<8|uint16(transport[3]))
	switch v.Protocol() {
	case wire.TCPProtocol:
		if c := s.conns.get(tuple{local, remote}); c != nil {
			c.unreached(now)
		}
	case wire.UDPProtocol:
		if u := s.sockets.udpFor(local, remote); u != nil {
			u.reported(syscall.EHOSTUNREACH)
		}
	case wire.ICMPv4Protocol:
		s.sockets.unechoed(v.Dst(), wire.ICMP(transport), syscall.EHOSTUNREACH)
	}
}

// unreached ends a connection that is being opened; another one outlives it.
func (c *Conn) unreached(now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.soft = syscall.EHOSTUNREACH
	c.tcp.HostUnreachable(now)
	c.flush(now)
}
