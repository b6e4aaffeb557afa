package flow

import "time"

// worker is a goroutine of a stage. Run starts it, and it ends when the net is done and its queue empty.
type worker[T any] struct {
	net   *Net[T]
	lane  *lane
	rows  []int
	clock clock
	out   Out[T]
}

// newWorker makes a worker. The caller holds the lock.
func (n *Net[T]) newWorker(s *node[T]) *worker[T] {
	w := &worker[T]{net: n, lane: n.newLane(), rows: []int{s.number}}
	w.out = Out[T]{net: n, node: s, run: s.Do, clock: &w.clock, count: w.lane.stage(s.number), ports: make([]port[T], len(s.ports))}
	for i, e := range s.ports {
		if e != nil {
			w.out.ports[i] = port[T]{edge: e, count: w.lane.edge(len(n.stages), e.number)}
			w.rows = append(w.rows, len(n.stages)+e.number)
		}
	}
	for _, e := range n.edges {
		if e.to == s.number {
			w.rows = append(w.rows, len(n.stages)+e.number)
		}
	}
	return w
}

// run is the worker's goroutine.
func (w *worker[T]) run() {
	for {
		var p parcel[T]
		select {
		case p = <-w.out.node.queue:
		default:
			w.lane.show(w.rows)
			select {
			case p = <-w.out.node.queue:
			case <-w.net.done:
				return
			}
		}
		w.handle(p)
	}
}

func (w *worker[T]) handle(p parcel[T]) {
	due := w.clock.tick()
	amount := uint64(len(p.items))
	if w.net.over.Load() {
		w.net.failAll(p.items, ErrStopped)
	} else {
		w.out.in = p.items
		w.out.guarded(p.items)
		if w.out.in != nil {
			w.out.in = nil
			w.net.recycle(p.items)
		}
	}
	w.lane.edge(len(w.net.stages), p.edge)[taken] += amount
	if due {
		w.lane.show(w.rows)
	}
}

// send puts a batch on its way, which the net owns from then on, and deals with a full queue.
func (n *Net[T]) send(p *port[T], batch []T, c *clock) {
	if n.offer(p, batch, c) {
		return
	}
	switch {
	case p.edge.Full == Refuse:
		n.failAll(batch, ErrFull)
	case p.edge.Full == Wait: // released by the deadline
		n.failAll(batch, ErrStopped)
	}
	n.recycle(batch)
}

// offer puts a batch on its way if the edge's policy finds room, and counts it.
func (n *Net[T]) offer(p *port[T], batch []T, c *clock) bool {
	amount := uint64(len(batch))
	queue := n.stages[p.edge.to].queue
	select {
	case queue <- parcel[T]{batch, p.edge.number}:
	default:
		if p.edge.Full != Wait || !n.wait(queue, parcel[T]{batch, p.edge.number}, c) {
			p.count[lost(p.edge.Full)] += amount
			return false
		}
	}
	p.count[sent] += amount
	return true
}

// wait waits for room until the deadline of a stop.
func (n *Net[T]) wait(queue chan<- parcel[T], p parcel[T], c *clock) bool {
	if c.on {
		begin := time.Now()
		defer func() { c.inner += time.Since(begin) }()
	}
	select {
	case queue <- p:
		return true
	case <-n.done:
		return false
	}
}

func (n *Net[T]) fail(item T, why error) {
	if n.failed != nil {
		n.failed(item, why)
	}
}

func (n *Net[T]) failAll(items []T, why error) {
	for _, item := range items {
		n.fail(item, why)
	}
}

// buffer is an empty batch with room for MaxBatch items.
func (n *Net[T]) buffer() []T { return (*n.pool.Get().(*[]T))[:0] }

// recycle keeps a batch that nobody has any more, if it has a buffer's room.
func (n *Net[T]) recycle(batch []T) {
	if cap(batch) == MaxBatch {
		clear(batch)
		n.pool.Put(&batch)
	}
}
