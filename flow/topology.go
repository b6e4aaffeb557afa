package flow

// Topology is a net as it was at a moment: its shape, and what has passed since it began.
type Topology struct {
	Way    Way            `json:"way"` // empty before Run
	Stages []StageReading `json:"stages"`
	Edges  []EdgeReading  `json:"edges"`
}

// StageReading is what a stage has done.
type StageReading struct {
	Name  string `json:"name"`
	Width int    `json:"width"`
	Calls uint64 `json:"calls"` // of Do
	Items uint64 `json:"items"` // that it is done with
	// sent by it to a port without an edge, where they left the net
	Left   uint64 `json:"left"`
	Failed uint64 `json:"failed"` // lost to its panics
	// nanoseconds an item, mean of the sampled ones, without what lies behind; 0: none yet
	ServiceNS float64 `json:"service_ns"`
}

// EdgeReading is what has passed an edge, in items.
type EdgeReading struct {
	Edge
	Items uint64 `json:"items"` // taken by the edge
	// of those, still waiting or in the hands of the stage it leads to
	Depth   uint64 `json:"depth"`
	Dropped uint64 `json:"dropped"` // when it was full
	Refused uint64 `json:"refused"`
}

// Snapshot describes the net and what has passed. It may be called at any time; see the package's
// comment for how fresh it is.
func (n *Net[T]) Snapshot() Topology {
	n.mu.Lock()
	defer n.mu.Unlock()
	total := n.total()
	t := Topology{Way: n.way}
	for _, s := range n.nodes[1:] {
		c := total[s.row]
		service := float64(c[nanos]) / float64(max(1, c[sampled]))
		t.Stages = append(t.Stages, StageReading{Name: s.Name, Width: s.Width, Calls: c[calls], Left: c[left], Failed: c[failed], ServiceNS: service})
	}
	for _, e := range n.edges {
		c := total[e.row]
		t.Stages[e.to.row-1].Items += c[taken]
		t.Edges = append(t.Edges, EdgeReading{Edge: e.Edge, Items: c[sent], Depth: c[sent] - min(c[sent], c[taken]), Dropped: c[lost+Drop], Refused: c[lost+Refuse]})
	}
	return t
}
