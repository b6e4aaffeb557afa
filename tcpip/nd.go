package tcpip

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/wire"
)

// neighbourDiscovery processes a message of neighbour discovery. It must come from the link: its
// hop limit is then 255 (RFC 4861, section 7.1).
func (p *packet) neighbourDiscovery(m wire.ICMPv6) layer {
	i := p.reader.iface
	if wire.IPv6(p.ip).HopLimit() != wire.NDPHopLimit || i.loopback {
		return p.drop(DropNDP)
	}
	switch t := m.Type(); {
	case t == wire.RouterAdvert:
		return p.routerAdvertisement(m)
	case t == wire.Redirect6:
		return p.redirect(m)
	case t != wire.NeighbourSolicit && t != wire.NeighbourAdvert:
		return consumed
	case !i.resolvesNeighbours():
		return p.drop(DropNDP)
	}
	n, fault := wire.ParseNeighbour(m)
	if fault != wire.OK {
		return p.drop(DropNDP)
	}
	n.Target = i.zoned(n.Target)
	if m.Type() == wire.NeighbourSolicit {
		return p.solicitation(&n)
	}
	return p.advertisement(&n)
}

// solicitation processes a neighbour solicitation (RFC 4861, section 7.2.3).
func (p *packet) solicitation(n *wire.Neighbour) layer {
	i := p.reader.iface
	mac, hasMAC := n.Options.LinkAddr(wire.SourceLinkAddr)
	probe := p.src.IsUnspecified()
	if probe && (hasMAC || !p.dst.IsMulticast()) || !probe && i.hasAddr(p.src) {
		return p.drop(DropNDP)
	}
	now := neigh.Time(p.now)
	i.mu.Lock()
	switch {
	case probe && !i.ownNonce(n.Options):
		i.claims.OtherProbes(n.Target, p.sourceMAC(), now, claimActions{p.reader})
	case !probe && hasMAC:
		i.neigh.ReceiveLinkAddr(p.src, mac, i.hasAddr(n.Target), now, neighActions{p.reader})
	}
	i.neighChanges.Store(i.neigh.Changes)
	i.mu.Unlock()
	if !i.hasAddr(n.Target) {
		return consumed
	}
	dst := p.src
	if probe {
		dst = i.zoned(allNodes)
	}
	p.reader.sendAdvertisement(n.Target, dst, !probe)
	return consumed
}

// advertisement processes a neighbour advertisement (RFC 4861, section 7.2.5).
func (p *packet) advertisement(n *wire.Neighbour) layer {
	i := p.reader.iface
	if p.src.IsUnspecified() || n.Solicited && p.dst.IsMulticast() {
		return p.drop(DropNDP)
	}
	mac, hasMAC := n.Options.LinkAddr(wire.TargetLinkAddr)
	now := neigh.Time(p.now)
	i.mu.Lock()
	if mac != i.caps.MAC {
		i.claims.OtherUses(n.Target, mac, now, claimActions{p.reader})
	}
	a := neigh.Advertisement{Addr: n.Target, MAC: mac, HasMAC: hasMAC, Solicited: n.Solicited, Override: n.Override}
	if i.neigh.ReceiveAdvertisement(a, now, neighActions{p.reader}) && !n.Router {
		p.reader.removeRouterLocked(n.Target)
	}
	i.neighChanges.Store(i.neigh.Changes)
	i.mu.Unlock()
	return consumed
}

// removeRouterLocked removes a neighbour that is no router any more (RFC 4861, section 7.2.5). The
// caller holds the interface's lock.
func (l *reader) removeRouterLocked(addr netip.Addr) {
	i := l.iface
	i.keepRedirectsLocked(func(r *redirect) bool { return r.target != addr || r.dst == addr })
	if i.auto.host != nil && i.auto.host.RemoveRouter(addr) {
		i.auto.pending = true
		l.requestCheck()
	}
}

// sourceMAC returns the hardware address that the frame came from.
func (p *packet) sourceMAC() wire.MAC {
	if p.eth == nil {
		return wire.MAC{}
	}
	return p.eth.Src()
}

// ownNonce reports whether a solicitation is the stack's own, which the link has sent back (RFC
// 7527).
func (i *iface) ownNonce(o wire.NDPOptions) bool {
	for option := range o.All() {
		if option.Kind() == wire.Nonce {
			return len(option) == 8 && [6]byte(option[2:]) == i.nonce
		}
	}
	return false
}

// sendSolicitation sends a neighbour solicitation to a hardware address, or to the group of the
// target if that is Broadcast. Without a source it is a probe for a duplicate address.
func (l *reader) sendSolicitation(target, src netip.Addr, at wire.MAC) {
	n := wire.Neighbour{Target: target}
	dst := target
	if at == wire.Broadcast {
		dst = solicitedNode(target)
		at, _ = l.iface.groupMAC(dst)
	}
	if src.IsValid() {
		n.Options = wire.AppendLinkAddr(nil, wire.SourceLinkAddr, l.iface.caps.MAC)
	} else {
		src = netip.IPv6Unspecified()
		n.Options = wire.AppendNonce(nil, l.iface.nonce)
	}
	l.sendNDP(src, dst, at, wire.AppendNeighbour(nil, src, dst, wire.NeighbourSolicit, &n))
}

// sendAdvertisement sends a neighbour advertisement for an address of the stack (RFC 4861, section
// 7.2.4).
func (l *reader) sendAdvertisement(target, dst netip.Addr, solicited bool) {
	n := wire.Neighbour{Target: target, Router: l.s.forwarding.Load() != nil, Solicited: solicited, Override: true, Options: wire.AppendLinkAddr(nil, wire.TargetLinkAddr, l.iface.caps.MAC)}
	message := wire.AppendNeighbour(nil, target, dst, wire.NeighbourAdvert, &n)
	if dst.IsMulticast() {
		mac, _ := l.iface.groupMAC(dst)
		l.sendNDP(target, dst, mac, message)
		return
	}
	header := l.ndpHeader(target, dst, len(message))
	l.counts.sent[kindICMP].Add(1)
	l.sendPacket(dst, dst, wire.TypeIPv6, header, message)
}

// sendNDP sends a message of neighbour discovery to a hardware address.
func (l *reader) sendNDP(src, dst netip.Addr, at wire.MAC, message []byte) {
	b := l.iface.appendFrameHeader(make([]byte, 0, 128), at, wire.TypeIPv6)
	l.counts.sent[kindICMP].Add(1)
	if !l.queue.Write(&link.Parts{Head: append(b, l.ndpHeader(src, dst, len(message))...), Body: [2][]byte{message}}) {
		l.s.drops.add(DropDevice)
	}
}

// ndpHeader returns the IP header of a message of neighbour discovery.
func (l *reader) ndpHeader(src, dst netip.Addr, payload int) []byte {
	return wire.AppendIPv6(nil, &wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, HopLimit: wire.NDPHopLimit, Src: src, Dst: dst, Payload: payload})
}

// newNonce returns a nonce for probes.
func newNonce() (nonce [6]byte) {
	rand.Read(nonce[:]) //nolint:errcheck // it never fails
	return nonce
}

// secretNumber returns a random number that an attacker cannot predict.
func secretNumber() uint64 {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	return binary.BigEndian.Uint64(b[:])
}
