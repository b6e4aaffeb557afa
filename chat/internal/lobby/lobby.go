// Package lobby bounds those who have come in and not yet said who they are: how many there are of
// one network, and in all. Who is too many of a network is turned away. When there are too many in
// all the one who has waited longest has to go: somebody who means to come in does so within a
// second or two, so a crowd that only takes up room cannot keep others out.
//
// # Limitations
//
// Only a network as small as one household's counts as one: who has many of these has as many
// shares.
package lobby

import (
	"container/list"
	"net/netip"
)

// Network is what counts as one address: an IPv4 address, or the 64 bits of an IPv6 address that
// one household, or one machine, has all of. That of no address is the zero value.
func Network(a netip.Addr) netip.Prefix {
	bits := 64
	if a = a.Unmap(); a.Is4() {
		bits = 32
	}
	p, _ := a.WithZone("").Prefix(bits) // fails for no address
	return p
}

// Lobby holds those who wait. It belongs to one caller at a time.
type Lobby[T any] struct {
	all, each int
	line      list.List // of *Place[T], in the order of their coming
	of        map[netip.Prefix]int
}

// New makes a lobby for so many in all, and of each network.
func New[T any](all, each int) *Lobby[T] {
	return &Lobby[T]{all: all, each: each, of: map[netip.Prefix]int{}}
}

// Bound changes the bounds.
func (l *Lobby[T]) Bound(all, each int) { l.all, l.each = all, each }

// Place is somebody's place in a lobby.
type Place[T any] struct {
	who     T
	network netip.Prefix
	element *list.Element // nil: has left
}

// Enter lets somebody in, who has to Leave. It returns nil when there are enough of the network,
// unless they are free to be as many as they like.
func (l *Lobby[T]) Enter(from netip.Addr, free bool, who T) *Place[T] {
	p := &Place[T]{who: who, network: Network(from)}
	if !free && l.of[p.network] >= l.each {
		return nil
	}
	l.of[p.network]++
	p.element = l.line.PushBack(p)
	return p
}

// Leave gives a place up. It may be called more than once, and for nil; it reports whether the
// place was there until now.
func (l *Lobby[T]) Leave(p *Place[T]) bool {
	if p == nil || p.element == nil {
		return false
	}
	l.line.Remove(p.element)
	p.element = nil
	if l.of[p.network]--; l.of[p.network] == 0 {
		delete(l.of, p.network)
	}
	return true
}

// Crowded has the one leave who has waited longest, and names him, if there are too many in all.
func (l *Lobby[T]) Crowded() (who T, crowded bool) {
	if l.line.Len() <= l.all {
		return who, false
	}
	p := l.line.Front().Value.(*Place[T])
	l.Leave(p)
	return p.who, true
}

// Oldest names the one who has waited longest, if there is somebody.
func (l *Lobby[T]) Oldest() (who T, ok bool) {
	if first := l.line.Front(); first != nil {
		return first.Value.(*Place[T]).who, true
	}
	return who, false
}

// Len is how many there are.
func (l *Lobby[T]) Len() int { return l.line.Len() }
