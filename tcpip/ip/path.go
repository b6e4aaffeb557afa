package ip

import (
	"net/netip"
	"time"
)

// Paths holds path MTUs (RFC 1191): only those that are smaller than the link MTU.
type Paths struct {
	byAddr map[netip.Addr]path
}

// path is what is known of the path to a destination.
type path struct {
	mtu          int
	fragmentable bool // its MTU is below minPathMTU: routers must be allowed to fragment
	expiresAt    Time
}

// PathMTUTimeout is how long a path MTU is kept; then a larger size is tried again (RFC 1191,
// section 6.3).
const PathMTUTimeout = 10 * time.Minute

const (
	maxPaths       = 4096
	evictionSample = 32 // how many paths are examined to find one to evict
	// minPathMTU is the smallest path MTU that is accepted, as in Linux: smaller ones would serve
	// to attack throughput. Packets may be fragmented on such paths instead.
	minPathMTU = 552
)

// plateaus are the likely MTUs behind a router that does not report the next-hop MTU (RFC 1191,
// sections 5 and 7).
var plateaus = [...]int{32000, 17914, 8166, 4352, 2002, 1492, 1006, 552}

// MTU returns the path MTU to an address over a link with the given MTU, and whether routers must
// be allowed to fragment (no Don't Fragment).
func (p *Paths) MTU(dst netip.Addr, link int, now Time) (mtu int, fragmentable bool) {
	e, ok := p.byAddr[dst]
	switch {
	case !ok:
		return link, false
	case now >= e.expiresAt:
		delete(p.byAddr, dst)
		return link, false
	}
	return min(e.mtu, link), e.fragmentable
}

// TooBig processes a Packet Too Big for a packet of size bytes with a next-hop MTU, 0 if the router
// does not report it. It returns the path MTU that is now valid.
func (p *Paths) TooBig(dst netip.Addr, size, next int, now Time) int {
	if next >= size {
		return p.currentMTU(dst, size, now) // not plausible
	}
	if next == 0 {
		next = minPathMTU
		for _, plateau := range plateaus {
			if plateau < size {
				next = plateau
				break
			}
		}
	}
	fragmentable := next < minPathMTU || size <= minPathMTU
	next = max(next, minPathMTU)
	if known := p.currentMTU(dst, next, now); known < next {
		return known // a Packet Too Big must not raise the path MTU (RFC 1191, section 3)
	}
	if p.byAddr == nil {
		p.byAddr = map[netip.Addr]path{}
	}
	if _, ok := p.byAddr[dst]; !ok && len(p.byAddr) >= maxPaths {
		p.evictOne()
	}
	p.byAddr[dst] = path{next, fragmentable, now + Time(PathMTUTimeout)}
	return next
}

// currentMTU returns the known path MTU, or otherwise if there is none.
func (p *Paths) currentMTU(dst netip.Addr, otherwise int, currentMTU Time) int {
	if e, ok := p.byAddr[dst]; ok && currentMTU < e.expiresAt {
		return e.mtu
	}
	return otherwise
}

// Len is the number of known paths.
func (p *Paths) Len() int { return len(p.byAddr) }

// evictOne removes the oldest of a few paths that it examines. If an attacker has forged many, the
// true ones are learnt again.
func (p *Paths) evictOne() {
	var first netip.Addr
	seen := 0
	for a, e := range p.byAddr {
		if f, ok := p.byAddr[first]; !ok || e.expiresAt < f.expiresAt {
			first = a
		}
		if seen++; seen == evictionSample {
			break
		}
	}
	delete(p.byAddr, first)
}
