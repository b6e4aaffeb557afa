package flow

// Topology is a net as it was at a moment: its shape, and what has passed since it began.
type Topology struct {
	Way    Way            `json:"way"`
	Stages []StageReading `json:"stages"`
	Edges  []EdgeReading  `json:"edges"`
}

// StageReading is what a stage has done.
type StageReading struct {
	Name      string  `json:"name"`
	Width     int     `json:"width"`
	Calls     uint64  `json:"calls"`      // of Do
	Items     uint64  `json:"items"`      // given to it
	Left      uint64  `json:"left"`       // sent by it to a port without an edge, where they left the net
	Failed    uint64  `json:"failed"`     // lost to its panics
	ServiceNS float64 `json:"service_ns"` // nanoseconds an item, mean of the sampled ones, without what lies behind; 0: none yet
}

// EdgeReading is what has passed an edge, in items.
type EdgeReading struct {
	From    string `json:"from"`
	Port    int    `json:"port"`
	To      string `json:"to"`
	Cap     int    `json:"cap"` // in batches
	Full    Policy `json:"full"`
	Items   uint64 `json:"items"`   // taken by the edge
	Depth   uint64 `json:"depth"`   // of those, still waiting or in the hands of the stage it leads to
	Dropped uint64 `json:"dropped"` // when it was full
	Refused uint64 `json:"refused"`
}

// Snapshot describes the net and what has passed. It may be called at any time; see the package's comment
// for how fresh it is.
func (n *Net[T]) Snapshot() Topology {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gather()
	total := n.total()
	t := Topology{Way: n.way}
	for i, s := range n.stages {
		c := total[i]
		r := StageReading{Name: s.Name, Width: s.Width, Calls: c[calls], Items: c[items], Left: c[left], Failed: c[failed]}
		if c[sampled] > 0 {
			r.ServiceNS = float64(c[nanos]) / float64(c[sampled])
		}
		t.Stages = append(t.Stages, r)
	}
	for i, e := range n.edges {
		c := total[len(n.stages)+i]
		if n.way == Chain {
			c[taken] = c[sent]
		}
		t.Edges = append(t.Edges, EdgeReading{From: e.From, Port: e.Port, To: e.To, Cap: e.Cap, Full: e.Full,
			Items: c[sent], Depth: c[sent] - min(c[sent], c[taken]), Dropped: c[dropped], Refused: c[refused]})
	}
	return t
}

// total adds up what all owners have shown. The caller holds the lock.
func (n *Net[T]) total() [][8]uint64 {
	total := make([][8]uint64, len(n.stages)+len(n.edges))
	for _, l := range n.lanes {
		for i := range total {
			for k := range total[i] {
				total[i][k] += l.shown[i][k].Load()
			}
		}
	}
	return total
}
