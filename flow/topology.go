package flow

// Topology is a net at one moment: its shape, and its counters since it started.
type Topology struct {
	Way    Way          `json:"way"` // empty before Run
	Stages []StageStats `json:"stages"`
	Edges  []EdgeStats  `json:"edges"`
}

// StageStats are the counters of a stage.
type StageStats struct {
	Name  string `json:"name"`
	Width int    `json:"width"`
	Calls uint64 `json:"calls"` // calls of Do
	Items uint64 `json:"items"` // items that it has handled
	// items that it sent to a port without an edge, where they left the net
	Left   uint64 `json:"left"`
	Failed uint64 `json:"failed"` // items lost to its panics
	// mean service time of the sampled items, in nanoseconds, without that of later stages; 0: none
	// yet
	ServiceNS float64 `json:"service_ns"`
}

// EdgeStats are the counters of an edge, in items.
type EdgeStats struct {
	Edge
	Items uint64 `json:"items"` // taken by the edge
	// of those, queued or being handled by the next stage
	Depth   uint64 `json:"depth"`
	Dropped uint64 `json:"dropped"` // not taken because it was full
	Refused uint64 `json:"refused"`
}

// Snapshot describes the net and its counters. It may be called at any time; the package's comment
// says by how much it may lag.
func (n *Net[T]) Snapshot() Topology {
	n.mu.Lock()
	defer n.mu.Unlock()
	total := n.totalsLocked()
	t := Topology{Way: n.way}
	for _, s := range n.nodes[1:] {
		c := total[s.row]
		service := float64(c[stageNanos]) / float64(max(1, c[stageSampled]))
		t.Stages = append(t.Stages, StageStats{Name: s.Name, Width: s.Width, Calls: c[stageCalls], Left: c[stageLeft], Failed: c[stageFailed], ServiceNS: service})
	}
	for _, e := range n.edges {
		c := total[e.row]
		t.Stages[e.to.row-1].Items += c[edgeHandled]
		t.Edges = append(t.Edges, EdgeStats{Edge: e.Edge, Items: c[edgeSent], Depth: c[edgeSent] - min(c[edgeSent], c[edgeHandled]), Dropped: c[edgeLost+Drop], Refused: c[edgeLost+Refuse]})
	}
	return t
}
