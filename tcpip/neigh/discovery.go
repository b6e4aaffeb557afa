package neigh

import (
	"net/netip"

	"weir/wire"
)

// Advertisement is what a neighbour advertisement says (RFC 4861, section 4.4).
type Advertisement struct {
	Addr                netip.Addr
	MAC                 wire.MAC // valid if HasMAC is set
	HasMAC              bool
	Solicited, Override bool
}

// ReceiveAdvertisement processes a neighbour advertisement (RFC 4861, section 7.2.5). It adds no
// neighbour. It reports whether the advertisement is accepted: it is about a neighbour, and does
// not contradict the known hardware address without the Override flag.
func (t *Table) ReceiveAdvertisement(a Advertisement, now Time, do Actions) (accepted bool) {
	n := t.neighbours[a.Addr]
	if n == nil || a.HasMAC && a.MAC.IsGroup() {
		return false
	}
	if n.State == Incomplete || n.State == Failed {
		if a.HasMAC {
			t.learn(n, a.MAC, a.Solicited, now, do)
		}
		return a.HasMAC
	}
	switch differs := a.HasMAC && a.MAC != n.MAC; {
	case differs && !a.Override:
		if n.State == Reachable {
			n.State, n.stateUntil = Stale, 0
		}
		return false
	case differs:
		t.learn(n, a.MAC, a.Solicited, now, do)
	case a.Solicited:
		t.learn(n, n.MAC, true, now, do)
	}
	return true
}

// ReceiveLinkAddr processes the hardware address of the sender of a solicitation, a router
// advertisement or a redirect (RFC 4861, sections 7.2.3, 6.2.6, 6.3.4 and 8.3). Of senders that are
// not known, it adds those that will need an answer or be used as routers: those of solicitations
// for the host's address, and routers.
func (t *Table) ReceiveLinkAddr(addr netip.Addr, mac wire.MAC, add bool, now Time, do Actions) {
	if mac.IsGroup() || mac == t.MAC {
		return
	}
	n := t.neighbours[addr]
	switch {
	case n == nil && add && t.evictIfFull(now):
		t.add(&Neighbour{Addr: addr, MAC: mac, State: Stale})
	case n != nil && (n.State == Incomplete || n.State == Failed || n.MAC != mac):
		t.learn(n, mac, false, now, do)
	}
}

// add adds a neighbour, for which there is room.
func (t *Table) add(n *Neighbour) {
	if t.neighbours == nil {
		t.neighbours = map[netip.Addr]*Neighbour{}
	}
	t.neighbours[n.Addr] = n
}

// learn sets a neighbour's hardware address and sends the packets that wait for it. The neighbour
// is Reachable if the message was an answer, otherwise Stale.
func (t *Table) learn(n *Neighbour, mac wire.MAC, answer bool, now Time, do Actions) {
	if n.MAC != mac {
		t.Changes++
	}
	n.MAC = mac
	n.State, n.stateUntil, n.requests = Stale, 0, 0
	if answer {
		n.State, n.stateUntil = Reachable, now+t.reachableTime(n)
	}
	for _, p := range t.takeWaiting(n) {
		do.SendQueued(n, p)
	}
}
