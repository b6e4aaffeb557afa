package flow

import "slices"

// Edges into one stage share the room of its queue. Where one of them could starve, each has places
// of its own: a parcel takes a place of its edge before it goes into the queue, and the worker that
// takes it frees the place.

// part gives the edges that lead to a stage places of their own if one of them does not wait, or
// leads back, beside another.
func (n *Net[T]) part(s *node[T]) {
	var into []*edge[T]
	starves := false
	for _, e := range n.edges {
		if e.to == s {
			into = append(into, e)
			starves = starves || e.Full != Wait || n.reaches(s, e, map[*node[T]]bool{})
		}
	}
	if len(into) < 2 || !starves {
		return
	}
	for _, e := range into {
		e.places = make(chan struct{}, e.Cap)
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

// reserve takes a place of an edge for a parcel. It reports false if none is free.
func (e *edge[T]) reserve(full *parcel[T]) bool {
	select {
	case e.places <- struct{}{}:
		full.placed = true
		return true
	default:
		return false
	}
}

// wait puts a parcel on its way when there is room. It reports false after a stop's deadline.
func (n *Net[T]) wait(e *edge[T], full *parcel[T]) bool {
	if e.places == nil {
		return e.to.queue.Put(full)
	}
	select {
	case e.places <- struct{}{}:
		full.placed = true
		return e.to.queue.Offer(full)
	case <-n.done:
		return false
	}
}
