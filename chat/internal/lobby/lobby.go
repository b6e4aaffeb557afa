// Package lobby limits clients that are connected but not registered yet, for each network and in
// all. A client beyond the limit of its network is rejected. Beyond the limit in all, the client
// that has waited longest is evicted. A real client registers within a second or two, so a flood of
// idle connections cannot keep it out.
//
// # Limitations
//
// A network has the size of one household. An attacker with many networks has a share for each.
package lobby

import (
	"container/list"
	"net/netip"
)

// Network returns the network under which an address is counted: the IPv4 address itself, or the
// /64 of an IPv6 address, which one household or machine has. It is zero for no address.
func Network(a netip.Addr) netip.Prefix {
	bits := 64
	if a = a.Unmap(); a.Is4() {
		bits = 32
	}
	p, _ := a.WithZone("").Prefix(bits) // fails for no address
	return p
}

// Lobby holds waiting clients of type T. It is not safe for concurrent use.
type Lobby[T any] struct {
	maxTotal, maxPerNetwork int
	queue                   list.List // of *Place[T], oldest first
	perNetwork              map[netip.Prefix]int
}

// New returns a lobby with limits in all and for each network.
func New[T any](all, each int) *Lobby[T] {
	return &Lobby[T]{maxTotal: all, maxPerNetwork: each, perNetwork: map[netip.Prefix]int{}}
}

// SetLimits changes the limits.
func (l *Lobby[T]) SetLimits(all, each int) { l.maxTotal, l.maxPerNetwork = all, each }

// Place is the place of one client in a lobby.
type Place[T any] struct {
	client  T
	network netip.Prefix
	element *list.Element // nil: the client has left
}

// Enter adds a client, which has to Leave. It returns nil if the network is at its limit, unless
// the client is exempt from that.
func (l *Lobby[T]) Enter(from netip.Addr, free bool, who T) *Place[T] {
	p := &Place[T]{client: who, network: Network(from)}
	if !free && l.perNetwork[p.network] >= l.maxPerNetwork {
		return nil
	}
	l.perNetwork[p.network]++
	p.element = l.queue.PushBack(p)
	return p
}

// Leave removes a client and reports whether it was in the lobby. It may be called more than once,
// and for nil.
func (l *Lobby[T]) Leave(p *Place[T]) bool {
	if p == nil || p.element == nil {
		return false
	}
	l.queue.Remove(p.element)
	p.element = nil
	if l.perNetwork[p.network]--; l.perNetwork[p.network] == 0 {
		delete(l.perNetwork, p.network)
	}
	return true
}

// EvictOldest removes and returns the client that has waited longest, if the lobby is over its
// limit.
func (l *Lobby[T]) EvictOldest() (who T, crowded bool) {
	if l.queue.Len() <= l.maxTotal {
		return who, false
	}
	p := l.queue.Front().Value.(*Place[T])
	l.Leave(p)
	return p.client, true
}

// Oldest returns the client that has waited longest. ok is false if there is none.
func (l *Lobby[T]) Oldest() (who T, ok bool) {
	if first := l.queue.Front(); first != nil {
		return first.Value.(*Place[T]).client, true
	}
	return who, false
}

// Len returns the number of clients.
func (l *Lobby[T]) Len() int { return l.queue.Len() }
