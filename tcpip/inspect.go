package tcpip

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// What follows is for people and programs that look at a running stack: each call takes the locks
// for a moment and gives what was there then.

// ConnInfo is a TCP connection.
type ConnInfo struct {
	Local, Remote netip.AddrPort
	tcp.Info
}

// Connections are the TCP connections, those being opened and those in TIME-WAIT included, in the
// order of their addresses.
func (s *Stack) Connections() []ConnInfo {
	var all []ConnInfo
	for _, c := range s.conns.all() {
		c.mu.Lock()
		all = append(all, ConnInfo{c.key.local, c.key.remote, c.tcp.Info()})
		c.mu.Unlock()
	}
	all = append(all, s.waits.all()...)
	slices.SortFunc(all, func(a, b ConnInfo) int {
		return cmp.Or(a.Local.Compare(b.Local), a.Remote.Compare(b.Remote))
	})
	return all
}

// ListenerInfo is who takes TCP connections.
type ListenerInfo struct {
	Local   netip.AddrPort
	Opening int // connections whose handshake is under way
	Waiting int // connections that wait for Accept
	Backlog int // how many of one address may wait
}

// Listeners are those who take TCP connections, in the order of their addresses.
func (s *Stack) Listeners() []ListenerInfo {
	s.ports.mu.RLock()
	defer s.ports.mu.RUnlock()
	var all []ListenerInfo
	for _, l := range s.ports.of {
		all = append(all, ListenerInfo{l.addr, int(l.opening.Load()), len(l.open), s.cfg.Backlog})
	}
	slices.SortFunc(all, func(a, b ListenerInfo) int { return a.Local.Compare(b.Local) })
	return all
}

// SocketInfo is a UDP socket.
type SocketInfo struct {
	Local, Remote netip.AddrPort // Remote is zero when it was not dialed
	Waiting       int            // datagrams that nobody has read
	Bytes         int            // that they hold
	Dropped       uint64         // datagrams that found its queue full
}

// Sockets are the UDP sockets, in the order of their addresses.
func (s *Stack) Sockets() []SocketInfo {
	s.sockets.mu.RLock()
	defer s.sockets.mu.RUnlock()
	var all []SocketInfo
	for _, us := range s.sockets.udp {
		for _, u := range us {
			waiting, bytes, dropped := u.fill()
			all = append(all, SocketInfo{u.local, u.remote, waiting, bytes, dropped})
		}
	}
	slices.SortFunc(all, func(a, b SocketInfo) int {
		return cmp.Or(a.Local.Compare(b.Local), a.Remote.Compare(b.Remote))
	})
	return all
}

// NeighbourInfo is somebody on a link of the stack's.
type NeighbourInfo struct {
	Interface string
	Addr      netip.Addr
	MAC       wire.MAC // zero while it is not known
	State     neigh.State
	Waiting   int // packets that wait for it
}

// Neighbours are those that ARP knows, or asks for, in the order of their addresses.
func (s *Stack) Neighbours() []NeighbourInfo {
	var all []NeighbourInfo
	for _, i := range s.ifaces {
		i.mu.Lock()
		for n := range i.neigh.All() {
			all = append(all, NeighbourInfo{i.name, n.Addr, n.MAC, n.State, n.Waiting()})
		}
		i.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b NeighbourInfo) int { return a.Addr.Compare(b.Addr) })
	return all
}

// RouteInfo is where packets for a network go.
type RouteInfo struct {
	To        netip.Prefix
	Via       netip.Addr // zero: those in the network are neighbours
	Interface string
	Source    netip.Addr // that packets are from, unless their sender says another
}

// Routes are the stack's, in the order in which they are looked at.
func (s *Stack) Routes() []RouteInfo {
	var all []RouteInfo
	for _, r := range s.routes {
		i, hop := s.ifaces[r.Link], r.Via
		if !hop.IsValid() {
			hop = r.To.Addr()
		}
		src := r.Src
		if !src.IsValid() {
			src = i.source(hop)
		}
		all = append(all, RouteInfo{r.To, r.Via, i.name, src})
	}
	return all
}

// InterfaceInfo is a link of the stack's.
type InterfaceInfo struct {
	Name     string // "link", or "lo" for the loopback
	Caps     link.Caps
	Addrs    []netip.Prefix
	Counters link.Counters // of all its queues
}

// Interfaces are the stack's links, the loopback last.
func (s *Stack) Interfaces() []InterfaceInfo {
	var all []InterfaceInfo
	for _, i := range s.ifaces {
		info := InterfaceInfo{Name: i.name, Caps: i.caps, Addrs: slices.Clone(i.addrs)}
		for _, l := range i.lanes {
			info.Counters.Add(l.q.Counters())
		}
		all = append(all, info)
	}
	return all
}

// Drops are how many packets were dropped since the stack began, for each reason, in the order of
// the reasons.
func (s *Stack) Drops() iter.Seq2[Drop, uint64] {
	return func(yield func(Drop, uint64) bool) {
		for d := range drops {
			if !yield(d, s.drops[d].Load()) {
				return
			}
		}
	}
}

// Memory is how many bytes the buffers of all connections hold, and how many they may.
func (s *Stack) Memory() (held, most int) {
	return s.cfg.Memory - int(s.budget.left.Load()), s.cfg.Memory
}
