package ndp

import (
	"net/netip"
	"slices"
	"time"

	"weir/wire"
)

// Reach is what neighbour unreachability detection knows of a router now.
type Reach uint8

// The knowledge of a router.
const (
	ReachUnknown   Reach = iota // it has not been resolved
	ReachProbable               // its hardware address is known
	ReachConfirmed              // it has answered
	ReachFailed                 // it did not answer
)

// Neighbours are what a Host needs of the neighbours on its link.
type Neighbours interface {
	Reach(router netip.Addr) Reach
	// UsedSince reports whether packets were sent to the router.
	UsedSince(router netip.Addr, since Time) bool
	// Probe sends one solicitation, unless an answer is awaited.
	Probe(router netip.Addr)
}

// probeInterval is the time between two probes of a router that does not answer while others are
// used (RFC 4191, section 3.5: at most one a minute).
const probeInterval = time.Minute

// reach is what the host remembers of the reachability of a route's router.
type reach struct {
	last     Reach // at the last call of UpdateReach
	failedAt Time  // when it last did not answer; 0: it has answered since
	probeAt  Time  // not before then it is probed, if it has failed
}

// UpdateReach follows the reachability of the routers (RFC 4861, section 6.3.6; RFC 4191, section
// 3.2). A router that did not answer is the last choice until it answers: it is probed once a
// minute, while packets go to another one in its place. changed reports whether State may
// return something else; next is when to call UpdateReach again; 0: with the next frame.
func (h *Host) UpdateReach(n Neighbours, now Time) (changed bool, next Time) {
	used := false
	for i := range h.routes {
		r := &h.routes[i]
		before := r.rank()
		r.reach.update(n.Reach(r.by), now)
		changed = changed || r.rank() != before
		used = used || r.reach.failedAt == 0 && n.UsedSince(r.by, now-Time(probeInterval))
	}
	for i := range h.routes {
		r := &h.routes[i].reach
		if r.failedAt == 0 {
			continue
		}
		if used && now >= r.probeAt {
			r.probeAt = now + Time(probeInterval)
			n.Probe(h.routes[i].by)
		}
		if r.probeAt > now && (next == 0 || r.probeAt < next) {
			next = r.probeAt
		}
	}
	return changed, next
}

// update takes what is known of the router now.
func (r *reach) update(now Reach, at Time) {
	switch {
	case now == ReachConfirmed:
		r.failedAt = 0
	case now == ReachFailed && r.last != ReachFailed:
		if r.failedAt == 0 {
			r.probeAt = at + Time(probeInterval)
		}
		r.failedAt = at
	}
	r.last = now
}

// HasFailed reports whether a router did not answer, and has not since.
func (h *Host) HasFailed(router netip.Addr) bool {
	for i := range h.routes {
		if h.routes[i].by == router {
			return h.routes[i].reach.failedAt != 0
		}
	}
	return false
}

// rank orders routes, the best first: those whose router has not failed by their preference, and of
// equal ones those whose router is known; then the one whose router failed the longest time ago, so
// that all are tried in turn (RFC 4861, section 6.3.6). It is positive if the router has failed.
func (r *route) rank() Time {
	rank := 2 * Time(wire.LowPreference-r.preference)
	switch {
	case r.reach.failedAt != 0:
		return r.reach.failedAt
	case r.reach.last == ReachUnknown:
		return rank - 1
	}
	return rank - 2
}

// nextRank returns the lowest rank of a route above one; forever if there is none.
func (h *Host) nextRank(above Time) Time {
	next := forever
	for i := range h.routes {
		if rank := h.routes[i].rank(); rank > above {
			next = min(next, rank)
		}
	}
	return next
}

// appendRoutes appends the routes by their rank. One by a router that has failed is left out if
// another leads to the same hosts (RFC 4191, section 3.2). These loops take less of a program than
// sorting does.
func (h *Host) appendRoutes(s *State) {
	answering := 0
	for rank := h.nextRank(-forever); rank != forever; rank = h.nextRank(rank) {
		for i := range h.routes {
			r := &h.routes[i]
			covers := func(o Route) bool { return o.To.Bits() <= r.to.Bits() && o.To.Contains(r.to.Addr()) }
			if r.rank() == rank && (rank < 0 || !slices.ContainsFunc(s.Routes[:answering], covers)) {
				s.Routes = append(s.Routes, Route{r.to, r.by})
			}
		}
		if rank < 0 {
			answering = len(s.Routes)
		}
	}
}
