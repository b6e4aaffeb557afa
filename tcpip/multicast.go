package tcpip

import (
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"

	"weir/tcpip/link"
	"weir/wire"
)

// multicastOptions are the options of a UDP socket for datagrams that it sends to groups.
type multicastOptions struct {
	ttl      atomic.Uint32 // plus 1; 0: 1
	loopsNot atomic.Bool
	link     atomic.Pointer[iface] // nil: that of the route
}

// loopMode states whether a packet for a group is also for the stack's own members of the group.
type loopMode uint8

const (
	noLoop   loopMode = iota
	loopToo           // for the link and for the members
	loopOnly          // for the members only: its TTL is 0
)

// SetMulticastTTL sets the TTL, or hop limit, of datagrams for groups. With 0, only sockets of the
// stack receive them. Default 1: they stay on the link.
func (u *UDPConn) SetMulticastTTL(hops uint8) { u.multicast.ttl.Store(uint32(hops) + 1) }

// SetMulticastLoop sets whether sockets of the stack, this one included, also receive the datagrams
// that this socket sends to groups that they have joined on the same link. Default: they do, but
// not those of ListenMulticastUDP.
func (u *UDPConn) SetMulticastLoop(yes bool) { u.multicast.loopsNot.Store(!yes) }

// SetMulticastInterface sets the link that datagrams for groups leave by, unless the group has the
// zone of another. The default, "", is the link of a route to the group, or the first.
func (u *UDPConn) SetMulticastInterface(link string) error {
	if link == "" {
		u.multicast.link.Store(nil)
		return nil
	}
	n := u.s.zoneNumber(link)
	if n == 0 {
		return u.wrap("set", &net.AddrError{Err: "no such link", Addr: link})
	}
	i, err := u.sameLink(u.s.ifaces[n-1])
	if err != nil {
		return u.wrap("set", err)
	}
	u.multicast.link.Store(i)
	return nil
}

// ListenMulticastUDP is net.ListenMulticastUDP: it opens a UDP socket at all addresses and the port
// of the group, and joins the group on the link with that name; "": see UDPConn.JoinGroup. Sockets
// that were opened so share a port: each receives a copy of the datagrams for its groups, and the
// last one those for the stack's addresses. Its own datagrams do not loop back.
func (s *Stack) ListenMulticastUDP(network, link string, group *net.UDPAddr) (*UDPConn, error) {
	if group == nil || !group.AddrPort().Addr().Unmap().IsMulticast() {
		return nil, opError("listen", network, &net.AddrError{Err: "it is no group", Addr: group.String()})
	}
	u, err := s.listenUDP(nil, network, netip.AddrPortFrom(group.AddrPort().Addr().Unmap(), group.AddrPort().Port()).String())
	if err != nil {
		return nil, err
	}
	u.SetMulticastLoop(false)
	if link != "" {
		err = u.SetMulticastInterface(link)
	}
	if err == nil {
		err = u.JoinGroup(link, group.AddrPort().Addr())
	}
	if err != nil {
		u.Close() //nolint:errcheck // what is wrong is known
		return nil, err
	}
	return u, nil
}

// canonicalDst is Stack.canonicalAddr for a destination: a group without a zone is that of the link
// of SetMulticastInterface.
func (u *UDPConn) canonicalDst(a netip.Addr) netip.Addr {
	if i := u.multicast.link.Load(); i != nil && a.Zone() == "" && a.IsMulticast() {
		return i.zoned(a.Unmap())
	}
	return u.s.canonicalAddr(a)
}

// apply sets what a packet for a group has of the options.
func (o *multicastOptions) apply(f *outgoingPacket) {
	hops := o.ttl.Load()
	f.ttl, f.loop = uint8(max(1, hops)-1), loopToo
	switch {
	case hops == 1 || f.dst.IsInterfaceLocalMulticast():
		f.loop = loopOnly
	case hops == 0:
		f.ttl = 1
	}
	if o.loopsNot.Load() && f.loop == loopToo {
		f.loop = noLoop
	}
	if i := o.link.Load(); i != nil && (f.dst.Zone() == "" || f.dst.Zone() == i.name) {
		f.link = i
	}
}

// loopToGroup gives a copy of a packet that leaves by i to the loopback's reader, if a socket has
// joined its group there. A packet that leaves by the loopback needs a copy only if it is for
// members only.
func (s *Stack) loopToGroup(i *iface, f outgoingPacket, payload []byte) {
	if lo := s.loopback(); i == lo && f.loop == loopOnly || i != lo && i.hasGroup(f.dst.WithZone("")) {
		f.loopOf = i
		lo.readers[0].send(&f, payload, lo.caps.MTU, f.dst)
	}
}

// sendLoop sends a copy to the loopback. Its frame has the number of the link as source.
func (l *reader) sendLoop(f *outgoingPacket, t wire.EtherType, header, piece []byte) {
	n := f.loopOf.index + 1
	mac, _ := l.iface.groupMAC(f.dst)
	head := wire.AppendEthernet(make([]byte, 0, 128), mac, wire.MAC{4: byte(n >> 8), 5: byte(n)}, t)
	if !l.queue.Write(&link.Parts{Head: append(head, header...), Body: [2][]byte{piece}}) {
		l.s.drops.add(DropDevice)
	}
}

// arrivedBy returns the interface of a packet for a group: that of a copy from sendLoop is the one
// that the packet has left by.
func (p *packet) arrivedBy() *iface {
	i := p.reader.iface
	if i.loopback && p.eth != nil {
		src := p.eth.Src()
		if n := int(src[4])<<8 | int(src[5]); n > 0 && n <= len(i.s.ifaces) {
			return i.s.ifaces[n-1]
		}
	}
	return i
}

// udpToGroup gives a copy of a datagram for a group to each socket at its port that has joined the
// group on the interface, and admits the source (RFC 1112, section 7.2; RFC 3376, section 3.2).
func (p *packet) udpToGroup(d wire.UDP) layer {
	from := netip.AddrPortFrom(p.src, d.SrcPort())
	var few [8]*UDPConn
	members := p.reader.s.sockets.appendMembers(few[:0], p.arrivedBy(), netip.AddrPortFrom(p.dst, d.DstPort()), from)
	if len(members) == 0 {
		return p.drop(DropUDPPort)
	}
	for _, u := range members {
		p.deliverDatagram(u, d.Payload(), from)
	}
	return consumed
}

// appendMembers appends the sockets that receive a datagram for a group that arrived by an
// interface.
func (s *sockets) appendMembers(all []*UDPConn, by *iface, to, from netip.AddrPort) []*UDPConn {
	group, source := to.Addr().WithZone(""), from.Addr().WithZone("")
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, a := range [...]netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		for _, u := range s.udp[netip.AddrPortFrom(a, to.Port())] {
			if u.family.has(group) && !u.remote.IsValid() && u.admits(by, group, source) {
				all = append(all, u)
			}
		}
	}
	return all
}

// canJoin returns an error for a socket that receives no datagrams for groups: it is connected, or
// at an address of a host.
func (u *UDPConn) canJoin() error {
	if u.remote.IsValid() || !u.local.Addr().IsUnspecified() {
		return syscall.EOPNOTSUPP
	}
	return nil
}
