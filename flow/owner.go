package flow

import "slices"

// owner is who runs stages, one at a time: a caller of Put while it is at work, or a worker, which
// is a goroutine of a stage.
type owner[T any] struct {
	net     *Net[T]
	lane    lane
	clock   clock
	batches uint
	first   *Out[T]      // a caller's entry, or a worker's stage
	entry   *port[T]     // the entry's port, by which stages put items too
	done    *uint64      // a worker's: the count of the parcel in hand
	amount  uint64       // a worker's: the items of the parcel in hand
	taken   []*counts    // a worker's, by the row of the edge that a batch came by
	aside   []*parcel[T] // Chain: what stages have put, the first to run first
}

// newOwner makes an owner that begins at s. The caller holds the lock.
func (n *Net[T]) newOwner(s *node[T]) *owner[T] {
	o := &owner[T]{net: n, taken: make([]*counts, len(n.nodes)+len(n.edges))}
	o.first = o.out(s, map[*node[T]]*Out[T]{})
	if entry := n.nodes[0]; s == entry {
		o.entry = &o.first.ports[0]
	} else {
		o.entry = &port[T]{edge: entry.ports[0], count: o.lane.add(entry.ports[0].row)}
	}
	for _, e := range n.edges {
		if e.to == s {
			o.taken[e.row] = o.lane.add(e.row)
		}
	}
	n.owners = append(n.owners, o)
	return o
}

// out makes an owner's Out of a stage and, by Chain, of those behind it that were not made before.
func (o *owner[T]) out(s *node[T], made map[*node[T]]*Out[T]) *Out[T] {
	if made[s] != nil {
		return made[s]
	}
	out := &Out[T]{owner: o, node: s, do: s.Do, at: -1, count: o.lane.add(s.row), ports: make([]port[T], len(s.ports))}
	made[s] = out
	for i, e := range s.ports {
		if e == nil {
			continue
		}
		out.ports[i] = port[T]{edge: e, count: o.lane.add(e.row)}
		if o.net.way == Chain {
			out.ports[i].next = o.out(e.to, made)
		}
	}
	return out
}

// Put gives the net a batch and returns how many of its items were taken, from the front: by Chain
// all, when they have passed through; by Network those that found room. None are taken before Run
// has begun and after its context has ended. The batch is the caller's again; by Chain, stages may
// have changed what is in it.
//
// A stage puts items into its own net by [Out.Put] and not by this: Put waits for room in the
// entry's queue by Network, and by Chain for a place of each stage that has a Width. A stage that
// called it could wait for the room that only its own return makes, or for the place that it holds
// itself, and so until the stop's deadline. The same holds for a stage that waits for another net
// whose stages put into this one.
func (n *Net[T]) Put(batch []T) (accepted int) {
	o := n.borrow()
	if o == nil {
		return 0
	}
	defer n.giveBack(o)
	for part := range slices.Chunk(batch, MaxBatch) {
		if accepted > 0 {
			o.runAside() // of the part before; giveBack runs that of the last
		}
		o.tick()
		if !o.first.hand(&o.first.ports[0], part) {
			break
		}
		accepted += len(part)
	}
	return accepted
}

// borrow has a caller be at work, nil when the net takes nothing.
func (n *Net[T]) borrow() (o *owner[T]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.open {
		return nil
	}
	if last := len(n.rest) - 1; last >= 0 {
		o, n.rest = n.rest[last], n.rest[:last]
		return o
	}
	return n.newOwner(n.nodes[0])
}

// giveBack has an owner be at rest.
func (n *Net[T]) giveBack(o *owner[T]) {
	if len(o.aside) > 0 {
		o.endAside()
		return
	}
	n.mu.Lock()
	n.rest = append(n.rest, o)
	n.mu.Unlock()
}

// tick begins a batch. It shows the counts now and then, and has some batches timed.
func (o *owner[T]) tick() {
	o.batches++
	if o.clock.on = o.batches%sampleEvery == 0; o.clock.on {
		o.lane.show()
	}
}
