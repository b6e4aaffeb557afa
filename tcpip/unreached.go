package tcpip

import (
	"net/netip"
	"syscall"

	"weir/tcpip/tcp"
	"weir/wire"
)

// maxUnreachable limits the undelivered packets that wait to be reported.
const maxUnreachable = 64

// unreachable is a frame whose neighbour did not answer.
type unreachable struct {
	hop   netip.Addr
	frame []byte
}

// Unreachable implements neigh.Actions. The reader reports the packet to its sender later, without
// locks; the packet has the sender's port.
func (a neighActions) Unreachable(hop netip.Addr, frame []byte) {
	a.l.s.drops.add(DropNeighbour)
	if i := a.l.iface; len(i.unreachableFrames) < maxUnreachable {
		i.unreachableFrames = append(i.unreachableFrames, unreachable{hop, frame})
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
// as Linux does. Those for a router go to another one, if there is one that has not failed.
func (l *reader) reportUnreachable(now tcp.Time) {
	l.iface.mu.Lock()
	frames := l.iface.unreachableFrames
	l.iface.unreachableFrames = nil
	l.iface.mu.Unlock()
	for _, f := range frames {
		p := packet{reader: l, ip: f.frame[l.iface.frameHeader:]}
		if p.parseOwn() && len(p.payload) >= 8 && !p.sendByAnotherRouter(f.hop) {
			p.notifyUnreachable(now)
		}
	}
}

// sendByAnotherRouter sends a packet of IPv6 again whose router did not answer, and reports whether
// there is another one: that of the route, if it was redirected. One that fails counts as such
// until it answers, and its redirects are removed, so a packet is sent again at most once by each.
func (p *packet) sendByAnotherRouter(failed netip.Addr) bool {
	i := p.reader.iface
	if p.dst.Is4() {
		return false
	}
	hop, ok := i.nextHop(p.dst)
	i.mu.Lock()
	ok = ok && hop != failed && hop != p.dst && i.auto.host != nil && !i.auto.host.HasFailed(hop)
	i.mu.Unlock()
	return ok && p.reader.sendPacket(hop, p.dst, wire.TypeIPv6, p.ip, nil)
}

// parseOwn parses a packet that the stack has made, and reports whether it has the start of the
// payload.
func (p *packet) parseOwn() bool {
	if p.demuxVersion() == ipv4Layer {
		v, fault := wire.ParseIPv4(p.ip)
		if fault == wire.OK {
			p.setIPv4(v)
		}
		return fault == wire.OK && v.FragmentOffset() == 0
	}
	v, fault := wire.ParseIPv6(p.ip)
	if fault != wire.OK {
		return false
	}
	p.src, p.dst = p.reader.iface.zoned(v.Src()), p.reader.iface.zoned(v.Dst())
	x, fault := wire.ParseExtensions(v)
	p.setExtensions(&x)
	return fault == wire.OK && (x.Fragment == nil || x.Fragment.Offset() == 0)
}

// notifyUnreachable reports EHOSTUNREACH to the sender of a packet.
func (p *packet) notifyUnreachable(now tcp.Time) {
	s := p.reader.s
	local, remote := portsOf(p.src, p.dst, p.payload)
	switch p.protocol {
	case wire.TCPProtocol:
		if c := s.conns.get(tuple{local, remote}); c != nil {
			c.hostUnreachable(now)
		}
	case wire.UDPProtocol:
		if u := s.sockets.udpFor(p.reader.iface, local, remote); u != nil {
			u.receiveError(syscall.EHOSTUNREACH)
		}
	case icmpProtocol(p.dst):
		s.sockets.failEcho(p.dst, p.payload, syscall.EHOSTUNREACH)
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
