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

// The types and methods of this file let people and programs inspect a running stack. Each call
// takes locks for a moment and returns a snapshot.

// ConnInfo describes a TCP connection.
type ConnInfo struct {
	Local, Remote netip.AddrPort
	tcp.Info
	// largest packet that is sent now, in bytes with its IP header; 0 in TIME-WAIT (pmtu)
	PathMTU int
}

// Info returns a snapshot of the connection: its addresses, and what Linux's tcp_info has. It locks
// this connection only, for less than a microsecond.
func (c *Conn) Info() ConnInfo {
	now := c.s.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.infoLocked(now)
}

// Unacknowledged returns how many bytes were written and the peer has not acknowledged, sent or not
// (SIOCOUTQ). Package serve asks for it: see [serve.Delivered].
func (c *Conn) Unacknowledged() int {
	info := c.Info()
	return info.InFlight + info.Unsent
}

// infoLocked is Info for a caller that holds mu.
func (c *Conn) infoLocked(now tcp.Time) ConnInfo {
	return ConnInfo{c.key.local, c.key.remote, c.tcp.Info(now), c.tcp.LargestSegment() + ipHeaderLen(c.key.remote.Addr())}
}

// Connections returns the TCP connections, handshakes and TIME-WAIT included, in the order of their
// addresses.
func (s *Stack) Connections() []ConnInfo {
	var all []ConnInfo
	for _, c := range s.conns.all() {
		c.mu.Lock()
		all = append(all, c.infoLocked(s.now()))
		c.mu.Unlock()
	}
	all = append(all, s.timeWaits.all()...)
	slices.SortFunc(all, func(a, b ConnInfo) int {
		return cmp.Or(a.Local.Compare(b.Local), a.Remote.Compare(b.Remote))
	})
	return all
}

// ListenerInfo describes a listener.
type ListenerInfo struct {
	Local   netip.AddrPort
	Opening int // connections in their handshake
	Waiting int // connections that wait for Accept
	Backlog int // maximum of Waiting for one client
	// connections of Fast Open in their handshake, or that a RST has ended a short time ago: see
	// ListenConfig.FastOpen
	FastOpen int
}

// Listeners returns the TCP listeners, in the order of their addresses.
func (s *Stack) Listeners() []ListenerInfo {
	var all []ListenerInfo
	for _, l := range s.listeners.all() {
		all = append(all, ListenerInfo{l.addr, int(l.handshakes.Load()), len(l.acceptQueue), cap(l.acceptQueue) / 2, l.fastOpens.count()})
	}
	slices.SortFunc(all, func(a, b ListenerInfo) int { return a.Local.Compare(b.Local) })
	return all
}

// SocketInfo describes a UDP socket.
type SocketInfo struct {
	Local, Remote netip.AddrPort // Remote is zero unless the socket is connected
	Waiting       int            // datagrams in the receive queue
	Bytes         int            // charged bytes of these datagrams
	Dropped       uint64         // datagrams dropped because the queue was full
}

// Sockets returns the UDP sockets, in the order of their addresses.
func (s *Stack) Sockets() []SocketInfo {
	s.sockets.mu.RLock()
	defer s.sockets.mu.RUnlock()
	var all []SocketInfo
	for _, us := range s.sockets.udp {
		for _, u := range us {
			waiting, bytes, dropped := u.usage()
			all = append(all, SocketInfo{u.local, u.remote, waiting, bytes, dropped})
		}
	}
	slices.SortFunc(all, func(a, b SocketInfo) int {
		return cmp.Or(a.Local.Compare(b.Local), a.Remote.Compare(b.Remote))
	})
	return all
}

// GroupInfo describes a multicast group that sockets have joined.
type GroupInfo struct {
	Interface string
	Group     netip.Addr
	Members   int // sockets
}

// Groups returns the multicast groups, in the order of the interfaces and of the addresses. It has
// no groups that every host belongs to, such as 224.0.0.1, unless a socket has joined them.
func (s *Stack) Groups() []GroupInfo {
	var all []GroupInfo
	for _, i := range s.ifaces {
		first := len(all)
		i.groups.mu.Lock()
		for group, members := range i.groups.members {
			all = append(all, GroupInfo{i.name, group, len(members)})
		}
		i.groups.mu.Unlock()
		slices.SortFunc(all[first:], func(a, b GroupInfo) int { return a.Group.Compare(b.Group) })
	}
	return all
}

// NeighbourInfo describes an entry of the neighbour table.
type NeighbourInfo struct {
	Interface string
	Addr      netip.Addr
	MAC       wire.MAC // zero while unknown
	State     neigh.State
	Waiting   int // packets that wait for its hardware address
}

// Neighbours returns the neighbour table, in the order of the addresses.
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

// RouteInfo describes a route.
type RouteInfo struct {
	To        netip.Prefix
	Via       netip.Addr // the router; zero: the network is on the link
	Interface string
	Source    netip.Addr // source address of packets that do not specify one
	Metric    int        // that of the interface included; the lowest is used
}

// Routes returns the stack's routes, in the order of lookup.
func (s *Stack) Routes() []RouteInfo {
	var all []RouteInfo
	for _, r := range *s.routes.Load() {
		i, hop := s.ifaces[r.Link], r.Via
		if !hop.IsValid() {
			hop = r.To.Addr()
		}
		src := r.Src
		if !src.IsValid() {
			src = i.sourceFor(hop)
		}
		all = append(all, RouteInfo{r.To, r.Via, i.name, src, r.Metric})
	}
	return all
}

// InterfaceInfo describes an interface.
type InterfaceInfo struct {
	Name      string // "link" for Config.Link, "lo" for the loopback
	Caps      link.Caps
	Addrs     []netip.Prefix
	Counters  link.Counters // sum of all queues
	Packets   []PacketCount // by protocol
	Conflicts uint64        // messages of other hosts that used an address of the stack
}

// PacketCount counts the packets of a protocol on an interface: received ones after reassembly. A
// superframe counts as one.
type PacketCount struct {
	Protocol       string // "tcp", "udp", "icmp" or "other"
	Received, Sent uint64
}

// Interfaces returns the stack's interfaces, the loopback last.
func (s *Stack) Interfaces() []InterfaceInfo {
	var all []InterfaceInfo
	for _, i := range s.ifaces {
		info := InterfaceInfo{Name: i.name, Caps: i.caps, Addrs: slices.Clone(i.configured())}
		info.Caps.MTU = int(i.mtu.Load())
		for kind, name := range payloadKindNames {
			count := PacketCount{Protocol: name}
			for _, l := range i.readers {
				count.Received += l.counts.received[kind].Load()
				count.Sent += l.counts.sent[kind].Load()
			}
			info.Packets = append(info.Packets, count)
		}
		for _, l := range i.readers {
			info.Counters.Add(l.queue.Counters())
		}
		i.mu.Lock()
		info.Conflicts = i.claims.Conflicts
		i.mu.Unlock()
		all = append(all, info)
	}
	return all
}

// Retransmitted returns how many TCP segments were retransmitted.
func (s *Stack) Retransmitted() (segments uint64) {
	for _, i := range s.ifaces {
		for _, l := range i.readers {
			segments += l.counts.retransmitted.Load()
		}
	}
	return segments
}

// ConnectionStates returns the number of TCP connections in each state.
func (s *Stack) ConnectionStates() map[tcp.State]int {
	of := map[tcp.State]int{}
	for _, c := range s.conns.all() {
		c.mu.Lock()
		of[c.tcp.State()]++
		c.mu.Unlock()
	}
	waiting, _ := s.TimeWaits()
	of[tcp.TimeWait] += waiting
	return of
}

// FragmentMemory returns how many bytes incomplete packets use, and their limit.
func (s *Stack) FragmentMemory() (used, limit int) {
	s.fragsMu.Lock()
	defer s.fragsMu.Unlock()
	return s.fragments.HeldBytes(), s.fragments.MaxBytes()
}

// Drops returns the number of packets dropped since the stack started, for each reason.
func (s *Stack) Drops() iter.Seq2[Drop, uint64] {
	return func(yield func(Drop, uint64) bool) {
		for d := range dropReasons {
			if !yield(d, s.drops[d].Load()) {
				return
			}
		}
	}
}

// Memory returns how many bytes all buffers of connections use, and their limit.
func (s *Stack) Memory() (used, limit int) {
	return s.cfg.Memory - int(s.budget.available.Load()), s.cfg.Memory
}
