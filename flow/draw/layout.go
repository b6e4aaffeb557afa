package draw

import (
	"cmp"
	"slices"

	"weir/flow"
)

// Layout holds the positions of a drawing's nodes: in layers, one for each step from the entry, and
// within a layer in rows. Node 0 is the entry; the stages follow in their order.
type Layout struct {
	Layers int `json:"layers"`
	// Exit is the node where items leave by edges from port -1, alone in the last layer; -1: there
	// is none.
	Exit  int    `json:"exit"`
	Nodes []Spot `json:"nodes"`
	Links []Link `json:"links"`
}

// Spot is a position: the layer's number from 0, and the row, at least 1 from the others of the
// layer. Row 0 is the middle.
type Spot struct {
	Layer int     `json:"layer"`
	Row   float64 `json:"row"`
}

// Link is a line of the drawing.
type Link struct {
	From  int    `json:"from"` // a node
	To    int    `json:"to"`
	Edges []int  `json:"edges"` // the edges of the topology that it stands for
	Via   []Spot `json:"via"`   // where it crosses the layers between
}

// vertex is a node, or a position where a link crosses a layer.
type vertex struct {
	layer      int
	row        float64
	prev, next []*vertex // in the neighbouring layers
}

// ComputeLayout computes the layout of a topology by Sugiyama's method. Layers follow the longest
// path from the entry. Within a layer, nodes are ordered by the mean rows of their neighbours,
// which leaves few crossings.
func ComputeLayout(t flow.Topology) Layout {
	g := &graph{links: linksOf(t), nodes: make([]*vertex, len(t.Stages)+1)}
	g.exit = exitNode(t)
	for i := range g.nodes {
		g.nodes[i] = new(vertex)
	}
	g.rank()
	via := g.crossLayers()
	for i := range 8 {
		g.order(i%2 == 0)
	}
	for i := range 8 {
		g.align(i%2 == 0)
	}
	return g.layout(via)
}

// exitNode returns the node where items leave: the pseudo-stage that edges from port -1 lead to. 0:
// there is none.
func exitNode(t flow.Topology) int {
	for _, e := range t.Edges {
		if e.Port < 0 {
			return 1 + slices.IndexFunc(t.Stages, func(s flow.StageStats) bool { return s.Name == e.To })
		}
	}
	return 0
}

type graph struct {
	nodes  []*vertex
	exit   int // 0: none
	links  []Link
	layers [][]*vertex
}

// linksOf returns the edges as links; edges between the same two stages share one.
func linksOf(t flow.Topology) (all []Link) {
	node := map[string]int{flow.Entry: 0}
	for i, s := range t.Stages {
		node[s.Name] = i + 1
	}
	for i, e := range t.Edges {
		from, to := node[e.From], node[e.To]
		same := slices.IndexFunc(all, func(l Link) bool { return l.From == from && l.To == to })
		if same < 0 {
			all = append(all, Link{From: from, To: to, Edges: []int{i}})
		} else {
			all[same].Edges = append(all[same].Edges, i)
		}
	}
	return all
}

// rank assigns each node its layer. A link that closes a cycle is drawn backwards and has no
// influence.
func (g *graph) rank() {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(g.nodes))
	var ordered []int // in topological order, sources last
	back := make([]bool, len(g.links))
	var visit func(n int)
	visit = func(n int) {
		state[n] = open
		for i, l := range g.links {
			if l.From != n {
				continue
			}
			if back[i] = state[l.To] == open; state[l.To] == unseen {
				visit(l.To)
			}
		}
		state[n] = done
		ordered = append(ordered, n)
	}
	for n := range g.nodes {
		if state[n] == unseen {
			visit(n)
		}
	}
	for _, n := range slices.Backward(ordered) {
		for i, l := range g.links {
			if l.From == n && !back[i] {
				g.nodes[l.To].layer = max(g.nodes[l.To].layer, g.nodes[n].layer+1)
			}
		}
	}
	if g.exit > 0 {
		for n, v := range g.nodes {
			if n != g.exit {
				g.nodes[g.exit].layer = max(g.nodes[g.exit].layer, v.layer+1)
			}
		}
	}
}

// crossLayers puts the nodes into their layers, and adds a vertex wherever a link crosses a layer.
// It returns these by link.
func (g *graph) crossLayers() [][]*vertex {
	last := 0
	for _, v := range g.nodes {
		last = max(last, v.layer)
	}
	g.layers = make([][]*vertex, last+1)
	put := func(v *vertex) { g.layers[v.layer] = append(g.layers[v.layer], v) }
	for _, v := range g.nodes {
		put(v)
	}
	via := make([][]*vertex, len(g.links))
	for i, l := range g.links {
		from, to := g.nodes[l.From], g.nodes[l.To]
		if from.layer >= to.layer {
			continue
		}
		for layer := from.layer + 1; layer < to.layer; layer++ {
			v := &vertex{layer: layer}
			put(v)
			join(from, v)
			via[i] = append(via[i], v)
			from = v
		}
		join(from, to)
	}
	for _, layer := range g.layers {
		spread(layer)
	}
	return via
}

func join(from, to *vertex) {
	from.next = append(from.next, to)
	to.prev = append(to.prev, from)
}

// spread assigns the vertices of a layer rows around the middle, in their order.
func spread(layer []*vertex) {
	for i, v := range layer {
		v.row = float64(i) - float64(len(layer)-1)/2
	}
}

// neighborMean returns the mean row of a vertex's neighbours on one side, or its own row if it has
// none.
func (v *vertex) neighborMean(forward bool) float64 {
	side := v.next
	if forward {
		side = v.prev
	}
	if len(side) == 0 {
		return v.row
	}
	sum := 0.
	for _, n := range side {
		sum += n.row
	}
	return sum / float64(len(side))
}

// sweep calls f for each layer, from the entry forward or from the exit backward.
func (g *graph) sweep(forward bool, f func([]*vertex)) {
	for i := range g.layers {
		if !forward {
			i = len(g.layers) - 1 - i
		}
		f(g.layers[i])
	}
}

// order sorts each layer by the mean rows of the neighbours.
func (g *graph) order(forward bool) {
	g.sweep(forward, func(layer []*vertex) {
		slices.SortStableFunc(layer, func(a, b *vertex) int { return cmp.Compare(a.neighborMean(forward), b.neighborMean(forward)) })
		spread(layer)
	})
}

// align moves the vertices of each layer towards the mean rows of their neighbours, as far as their
// order and a distance of 1 allow.
func (g *graph) align(forward bool) {
	g.sweep(forward, func(layer []*vertex) {
		wishes, off := make([]float64, len(layer)), 0.
		for i, v := range layer {
			wishes[i] = v.neighborMean(forward)
		}
		for i, v := range layer {
			v.row = wishes[i]
			if i > 0 {
				v.row = max(v.row, layer[i-1].row+1)
			}
			off += v.row - wishes[i]
		}
		for _, v := range layer {
			v.row -= off / float64(len(layer))
		}
	})
}

// layout returns the positions, with the middle of all rows at 0.
func (g *graph) layout(via [][]*vertex) Layout {
	low, high := g.nodes[0].row, g.nodes[0].row
	for _, layer := range g.layers {
		for _, v := range layer {
			low, high = min(low, v.row), max(high, v.row)
		}
	}
	spot := func(v *vertex) Spot { return Spot{v.layer, v.row - (low+high)/2} }
	l := Layout{Layers: len(g.layers), Exit: g.exit, Links: g.links}
	if g.exit == 0 {
		l.Exit = -1
	}
	for _, v := range g.nodes {
		l.Nodes = append(l.Nodes, spot(v))
	}
	for i := range l.Links {
		for _, v := range via[i] {
			l.Links[i].Via = append(l.Links[i].Via, spot(v))
		}
	}
	return l
}
