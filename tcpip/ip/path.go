package ip

import (
	"net/netip"
	"time"
)

// Paths is what is known of how large packets may be on the way to others (RFC 1191). It holds few:
// those whose path takes less than the link.
type Paths struct {
	all map[netip.Addr]path
}

type path struct {
	mtu   int
	cut   bool // it takes less than pathLeast: what is larger has to be cut on the way
	until Time
}

// PathTime is how long it is known that a path takes less than the link; then a larger size is
// tried (RFC 1191, section 6.3).
const PathTime = 10 * time.Minute

const (
	pathsMost = 4096
	pathsLook = 32 // of which one is forgotten
	// less than this is believed of nobody, as Linux (an attack on our throughput): packets may be
	// cut instead
	pathLeast = 552
)

// plateaus are what a router that does not say the next hop's size may mean (RFC 1191, section 7.1).
var plateaus = [...]int{32000, 17914, 8166, 4352, 2002, 1492, 1006, 552}

// MTU is the largest packet for an address, over a link that takes so much, and whether somebody on
// the way has to be allowed to cut it.
func (p *Paths) MTU(dst netip.Addr, link int, now Time) (mtu int, cut bool) {
	e, ok := p.all[dst]
	switch {
	case !ok:
		return link, false
	case now >= e.until:
		delete(p.all, dst)
		return link, false
	}
	return min(e.mtu, link), e.cut
}

// TooBig takes a router's word that a packet of some size was too big, and that so much would not
// be; zero: it does not say. It gives what holds now.
func (p *Paths) TooBig(dst netip.Addr, size, next int, now Time) int {
	if next >= size {
		return p.now(dst, size, now) // nobody can mean that
	}
	if next == 0 {
		next = pathLeast
		for _, plateau := range plateaus {
			if plateau < size {
				next = plateau
				break
			}
		}
	}
	cut := next < pathLeast || size <= pathLeast
	next = max(next, pathLeast)
	if known := p.now(dst, next, now); known < next {
		return known // what was too big does not make a path take more (RFC 1191, section 3)
	}
	if p.all == nil {
		p.all = map[netip.Addr]path{}
	}
	if _, ok := p.all[dst]; !ok && len(p.all) >= pathsMost {
		p.forgetOne()
	}
	p.all[dst] = path{next, cut, now + Time(PathTime)}
	return next
}

// now is what is known of a path, or else so much.
func (p *Paths) now(dst netip.Addr, otherwise int, now Time) int {
	if e, ok := p.all[dst]; ok && now < e.until {
		return e.mtu
	}
	return otherwise
}

// Len is how many paths are known.
func (p *Paths) Len() int { return len(p.all) }

// forgetOne forgets the path that was learnt first of some that are looked at: of many that
// somebody has invented, those that are true are learnt again.
func (p *Paths) forgetOne() {
	var first netip.Addr
	seen := 0
	for a, e := range p.all {
		if f, ok := p.all[first]; !ok || e.until < f.until {
			first = a
		}
		if seen++; seen == pathsLook {
			break
		}
	}
	delete(p.all, first)
}
