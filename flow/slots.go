package flow

import "slices"

// Edges into one stage share the room of its queue. Where one of them could starve, each has slots
// of its own. A batch takes a slot of its edge before it goes into the queue, and the worker that
// receives it frees the slot.

// splitRoom gives the edges that lead to a stage slots of their own if one of them does not wait,
// or leads back, beside another.
func (n *Net[T]) splitRoom(s *node[T]) {
	var into []*edge[T]
	starves := false
	for _, e := range n.edges {
		if e.to == s {
			into = append(into, e)
			starves = starves || e.WhenFull != Wait || n.reaches(s, e, map[*node[T]]bool{})
		}
	}
	if len(into) < 2 || !starves {
		return
	}
	for _, e := range into {
		e.slots = make(chan struct{}, e.Cap)
	}
}

// reaches reports whether a path leads from a stage over an edge.
func (n *Net[T]) reaches(s *node[T], over *edge[T], seen map[*node[T]]bool) bool {
	if seen[s] {
		return false
	}
	seen[s] = true
	return slices.ContainsFunc(s.ports, func(e *edge[T]) bool {
		return e != nil && (e == over || n.reaches(e.to, over, seen))
	})
}

// reserve takes a slot of an edge for a batch. It reports whether one was free.
func (e *edge[T]) reserve(full *queuedBatch[T]) bool {
	select {
	case e.slots <- struct{}{}:
		full.hasSlot = true
		return true
	default:
		return false
	}
}

// waitSend queues a batch when there is room. It reports whether it did: not after a stop's
// deadline.
func (n *Net[T]) waitSend(e *edge[T], full *queuedBatch[T]) bool {
	if e.slots == nil {
		return e.to.queue.Put(full)
	}
	select {
	case e.slots <- struct{}{}:
		full.hasSlot = true
		return e.to.queue.Offer(full)
	case <-n.deadlinec:
		return false
	}
}
