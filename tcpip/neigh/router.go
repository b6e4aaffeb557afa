package neigh

import "net/netip"

// StateOf returns the state of a neighbour; ok is false if there is none.
func (t *Table) StateOf(addr netip.Addr) (s State, ok bool) {
	n := t.neighbours[addr]
	if n == nil {
		return 0, false
	}
	return n.State, true
}

// UsedSince reports whether a packet was sent to a neighbour at or after a time.
func (t *Table) UsedSince(addr netip.Addr, since Time) bool {
	n := t.neighbours[addr]
	return n != nil && n.lastUsedAt != 0 && n.lastUsedAt >= since
}

// Probe sends one request to a neighbour, which may be new, unless an answer is awaited. If it does
// not answer, it fails.
func (t *Table) Probe(addr netip.Addr, now Time, do Actions) {
	n := t.neighbours[addr]
	if n == nil {
		if !t.evictIfFull(now) {
			return
		}
		n = &Neighbour{Addr: addr}
		t.add(n)
	}
	switch {
	case n.State == Reachable || n.requests > 0 && n.State != Failed:
		return
	case n.State == Stale:
		n.State = Probing
	case n.State == Failed:
		n.State = Incomplete
	}
	n.forOwnPackets = true
	n.requests, n.stateUntil = maxRequests-1, now
	t.tick(n, now, do)
}

// Clear forgets all neighbours and the announced timers, and drops the packets that wait: the link
// leads to others now.
func (t *Table) Clear() {
	t.Timers = Timers{Rand: t.Timers.Rand}
	for _, n := range t.neighbours {
		t.remove(n)
	}
	t.Changes++
}
