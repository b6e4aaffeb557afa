package conn

import (
	"cmp"
	"slices"
)

// The kinds of groups that a place is in.
const (
	ofAll    = iota // all places
	ofClient        // those of one client
)

// group is a set of open connections that finds the longest idle one. The lock of [Places] guards
// it.
type group struct {
	kind int
	open []*Place
	idle []candidate // found by the last scan, the longest idle first
}

// candidate is a place that was idle at the last scan.
type candidate struct {
	*Place
	since int64
}

func (g *group) add(o *Place) {
	o.index[g.kind] = len(g.open)
	g.open = append(g.open, o)
}

// remove removes a place of the group.
func (g *group) remove(o *Place) {
	i, last := o.index[g.kind], len(g.open)-1
	g.open[i] = g.open[last]
	g.open[i].index[g.kind] = i
	g.open[last] = nil
	g.open = g.open[:last]
}

// longestIdle returns the connection that has been idle for longest at a time of the clock; nil:
// none is idle.
func (g *group) longestIdle(now int64) *Place {
	for scanned := false; ; scanned = true {
		for len(g.idle) > 0 {
			c := g.idle[0]
			g.idle = g.idle[1:]
			if !c.gone && c.Place.since.Load() == c.since {
				return c.Place
			}
		}
		if scanned {
			return nil
		}
		g.scan(now)
	}
}

// scan finds candidates among the idle connections. It keeps the longest idle eighth, or 64 if that
// is more: then few new connections cost a scan, and ended connections are not kept for long.
func (g *group) scan(now int64) {
	var all []candidate
	for _, o := range g.open {
		if since, idle := o.idleAt(now); idle {
			all = append(all, candidate{o, since})
		}
	}
	slices.SortFunc(all, longer)
	g.idle = slices.Clone(all[:min(len(all), max(64, len(all)/8))])
}

// longer orders candidates: the longest idle first, then the one that was opened first.
func longer(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.number, b.number))
}
