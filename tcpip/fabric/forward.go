package fabric

import (
	"net/netip"
	"time"

	"weir/wire"
)

// arrive handles a packet that has reached a node.
func (n *Network) arrive(at time.Time, node *Node, p *packet) {
	switch node.kind {
	case hostNode:
		n.deliver(at, node, p)
	case routerNode:
		if node.answersEcho(at, p) || !node.decrement(at, p) {
			return
		}
		n.forward(at, node, p)
	case natNode:
		n.translate(at, node, p)
	default:
		n.forward(at, node, p)
	}
}

// deliver hands a packet to a host.
func (n *Network) deliver(at time.Time, host *Node, p *packet) {
	_, dst, ok := addrsOf(p.bytes)
	switch {
	case !ok:
		n.drop(at, host, p, DropMalformed)
	case n.isBlocked(p.from, host):
		n.drop(at, host, p, DropPartitioned)
	case host.nic == nil:
		n.drop(at, host, p, DropDown)
	case host.realm.owners[dst] != host && !isGroup(dst, host.realm):
		n.drop(at, host, p, DropNoRoute) // hosts do not forward
	case host.paused:
		host.hold(heldPacket{arrived: p})
	case !host.nic.deliver(p.bytes):
		n.drop(at, host, p, DropQueueFull)
	default:
		n.observe(Event{At: at, Kind: EventDelivered, Node: host, Packet: p.bytes, Number: p.number})
	}
}

// forward sends a packet from a node towards its destination.
func (n *Network) forward(at time.Time, node *Node, p *packet) {
	_, dst, ok := addrsOf(p.bytes)
	if !ok {
		n.drop(at, node, p, DropMalformed)
		return
	}
	if isGroup(dst, node.realm) {
		n.flood(at, node, p)
		return
	}
	target := node.realmTowards(dst).target(dst)
	if target == nil {
		n.noRoute(at, node, p)
		return
	}
	if n.isBlocked(p.from, target) {
		n.drop(at, node, p, DropPartitioned)
		return
	}
	next := node.next(target)
	if next == nil {
		n.noRoute(at, node, p)
		return
	}
	next.send(n, at, p)
}

// flood sends a broadcast or multicast along the tree of the shortest routes to its sender, as
// switches with a spanning tree do: each node gets it once, also in a ring. Routers and NATs, which
// end the network, drop it.
func (n *Network) flood(at time.Time, node *Node, p *packet) {
	if node.kind != hostNode && node.kind != switchNode {
		n.drop(at, node, p, DropNoRoute)
		return
	}
	taken := false
	for _, l := range node.lines {
		if back := l.to.next(p.from); back != nil && back.link == l.link {
			taken = true
			q := *p
			q.bytes = append([]byte(nil), p.bytes...)
			l.send(n, at, &q)
		}
	}
	if !taken {
		n.drop(at, node, p, DropNoRoute)
	}
}

// noRoute drops a packet and, at a router or NAT, answers it.
func (n *Network) noRoute(at time.Time, node *Node, p *packet) {
	n.drop(at, node, p, DropNoRoute)
	n.sendError(at, node, p, unreachable)
}

// isGroup reports whether an address is a broadcast or multicast address, also of a network that
// hosts have by their own addresses.
func isGroup(a netip.Addr, r *realm) bool {
	return isReservedGroup(a, r) || len(r.broadcasts) > 0 && r.broadcasts[a] && r.owners[a] == nil
}

// isReservedGroup reports whether an address is a broadcast or multicast address whatever the
// addresses of the hosts.
func isReservedGroup(a netip.Addr, r *realm) bool {
	if a.IsMulticast() {
		return true
	}
	if !a.Is4() {
		return false
	}
	b, last := a.As4(), r.base4
	return b == [4]byte{255, 255, 255, 255} || last.Contains(a) && a == lastAddr(last)
}

// lastAddr returns the broadcast address of an IPv4 network.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}

// addrsOf returns the addresses of a packet; ok is false if it is none, or shorter than it says.
func addrsOf(b []byte) (src, dst netip.Addr, ok bool) {
	if len(b) == 0 {
		return src, dst, false
	}
	if b[0]>>4 == 6 {
		p, fault := wire.ParseIPv6(b)
		if fault != wire.OK {
			return src, dst, false
		}
		return p.Src(), p.Dst(), true
	}
	p, fault := wire.ParseIPv4(b)
	if fault != wire.OK {
		return src, dst, false
	}
	return p.Src(), p.Dst(), true
}

// flowKey has the addresses, the protocol and the ports of a packet.
type flowKey [37]byte

// flowOf returns the key of a packet. Of fragments and of protocols without ports it has what is in
// their place.
func flowOf(b []byte) (k flowKey) {
	begin := headerLen(b)
	switch {
	case len(b) >= wire.IPv6Header && b[0]>>4 == 6:
		k[0] = b[6]
		copy(k[1:], b[8:40])
	case len(b) >= wire.IPv4Header:
		k[0] = b[9]
		copy(k[1:], b[12:20])
	}
	copy(k[33:], b[min(begin, len(b)):])
	return k
}

// Partition drops all packets between two hosts from now on, those in flight included; with oneWay
// only those from a to b.
func (n *Network) Partition(a, b *Node, oneWay bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocked[[2]*Node{a, b}] = struct{}{}
	if !oneWay {
		n.blocked[[2]*Node{b, a}] = struct{}{}
	}
}

// Heal ends the partition between two hosts, in both directions.
func (n *Network) Heal(a, b *Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.blocked, [2]*Node{a, b})
	delete(n.blocked, [2]*Node{b, a})
}

// HealAll ends all partitions.
func (n *Network) HealAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.blocked)
}

func (n *Network) isBlocked(from, to *Node) bool {
	if len(n.blocked) == 0 {
		return false
	}
	_, is := n.blocked[[2]*Node{from, to}]
	return is
}
