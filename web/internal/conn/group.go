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

// group is open connections of which the longest idle is to be found. Whoever has it guards it.
type group struct {
	kind int
	open []*Place
	idle []candidate // found by the last look, the longest idle first
}

// candidate is a place that was idle when it was looked at.
type candidate struct {
	*Place
	since int64
}

func (g *group) add(o *Place) {
	o.index[g.kind] = len(g.open)
	g.open = append(g.open, o)
}

// remove takes a place out, which is in.
func (g *group) remove(o *Place) {
	i, last := o.index[g.kind], len(g.open)-1
	g.open[i] = g.open[last]
	g.open[i].index[g.kind] = i
	g.open[last] = nil
	g.open = g.open[:last]
}

// longestIdle is the connection that is idle for longest at a time of the clock, nil when none is.
func (g *group) longestIdle(now int64) *Place {
	for looked := false; ; looked = true {
		for len(g.idle) > 0 {
			c := g.idle[0]
			g.idle = g.idle[1:]
			if !c.gone && c.Place.since.Load() == c.since {
				return c.Place
			}
		}
		if looked {
			return nil
		}
		g.look(now)
	}
}

// look finds the candidates: a part of those that are idle, so that not every new connection costs
// a look, and that connections which have ended are not kept for long.
func (g *group) look(now int64) {
	var all []candidate
	for _, o := range g.open {
		if since, idle := o.idleAt(now); idle {
			all = append(all, candidate{o, since})
		}
	}
	slices.SortFunc(all, longer)
	g.idle = slices.Clone(all[:min(len(all), max(64, len(all)/8))])
}

// longer orders candidates: the longest idle first, of several the one that was opened first.
func longer(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.number, b.number))
}
