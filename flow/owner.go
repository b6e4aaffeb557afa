package flow

import "slices"

// owner runs stages, one at a time: a caller of Put while its call is under way, or a worker, which
// is a goroutine of a stage.
type owner[T any] struct {
	net        *Net[T]
	shard      counterShard
	clock      clock
	batches    uint
	firstStage *Out[T]  // a caller's entry, or a worker's stage
	entryPort  *port[T] // the entry's port, for Out.Put
	// a worker's: the counter to which the batch in hand will be added
	handledCounter *uint64
	itemsInHand    uint64            // a worker's: the number of items in hand
	edgeCounters   []*counters       // a worker's, by the row of the edge that a batch came by
	deferred       []*queuedBatch[T] // Chain: batches of Out.Put, the first to run first
}

// newOwnerLocked makes an owner that starts at s. The caller holds the net's lock.
func (n *Net[T]) newOwnerLocked(s *node[T]) *owner[T] {
	o := &owner[T]{net: n, edgeCounters: make([]*counters, len(n.nodes)+len(n.edges))}
	o.firstStage = o.newOut(s, map[*node[T]]*Out[T]{})
	if entry := n.nodes[0]; s == entry {
		o.entryPort = &o.firstStage.ports[0]
	} else {
		o.entryPort = &port[T]{edge: entry.ports[0], counters: o.shard.add(entry.ports[0].row)}
	}
	for _, e := range n.edges {
		if e.to == s {
			o.edgeCounters[e.row] = o.shard.add(e.row)
		}
	}
	n.owners = append(n.owners, o)
	return o
}

// newOut makes an owner's Out of a stage and, by Chain, of the later stages that have none yet.
func (o *owner[T]) newOut(s *node[T], made map[*node[T]]*Out[T]) *Out[T] {
	if made[s] != nil {
		return made[s]
	}
	out := &Out[T]{owner: o, node: s, do: s.Do, eachIndex: -1, counters: o.shard.add(s.row), ports: make([]port[T], len(s.ports))}
	made[s] = out
	for i, e := range s.ports {
		if e == nil {
			continue
		}
		out.ports[i] = port[T]{edge: e, counters: o.shard.add(e.row)}
		if o.net.way == Chain {
			out.ports[i].nextStage = o.newOut(e.to, made)
		}
	}
	return out
}

// Put puts a batch into the net and returns how many of its items were taken, from the front. By
// Chain these are all, when they have passed through; by Network those that found room. Put takes
// none before Run has started and after its context has ended. The slice belongs to the caller
// again; by Chain, stages may have changed the items in it.
//
// A stage puts items into its own net by [Out.Put], because Put waits. By Network it waits for room
// in the entry's queue, and by Chain for a slot of each stage that has a Width. A stage that called
// it could wait for room that only its own return makes, or for the slot that it occupies, until
// the stop's deadline. The same holds for a stage that waits for another net whose stages put into
// this one.
func (n *Net[T]) Put(batch []T) (accepted int) {
	o := n.acquireOwner()
	if o == nil {
		return 0
	}
	defer n.releaseOwner(o)
	for part := range slices.Chunk(batch, MaxBatch) {
		if accepted > 0 {
			o.runDeferred() // those of the part before; releaseOwner runs those of the last part
		}
		o.startBatch()
		if !o.firstStage.deliver(&o.firstStage.ports[0], part) {
			break
		}
		accepted += len(part)
	}
	return accepted
}

// acquireOwner returns an owner for a caller, nil if the net takes nothing.
func (n *Net[T]) acquireOwner() (o *owner[T]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.accepting {
		return nil
	}
	if last := len(n.idleOwners) - 1; last >= 0 {
		o, n.idleOwners = n.idleOwners[last], n.idleOwners[:last]
		return o
	}
	return n.newOwnerLocked(n.nodes[0])
}

// releaseOwner makes an owner idle.
func (n *Net[T]) releaseOwner(o *owner[T]) {
	if len(o.deferred) > 0 {
		o.finishDeferred()
		return
	}
	n.mu.Lock()
	n.idleOwners = append(n.idleOwners, o)
	n.mu.Unlock()
}

// startBatch counts a batch. Now and then it publishes the counters and has the batch timed.
func (o *owner[T]) startBatch() {
	o.batches++
	if o.clock.on = o.batches%sampleEvery == 0; o.clock.on {
		o.shard.publish()
	}
}
