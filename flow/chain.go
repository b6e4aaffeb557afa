package flow

import "time"

// walk is a caller of Put at work. By Chain it has an Out for every stage; by Network only the entry.
type walk[T any] struct {
	lane  *lane
	rows  []int // of the lane that the walk may have changed
	clock clock
	outs  []Out[T]
	entry Out[T] // of nothing: its port 0 is the entry's edge
}

// Put gives the net a batch and returns how many of its items were taken, from the front: by Chain all, when they
// have passed through; by Network those that found room. None are taken before Run has begun and after its
// context has ended. The batch is the caller's again.
func (n *Net[T]) Put(batch []T) (accepted int) {
	w := n.borrow()
	if w == nil {
		return 0
	}
	defer n.giveBack(w)
	if w.clock.tick() {
		w.lane.show(w.rows)
	}
	for len(batch) > 0 {
		part := batch[:min(len(batch), MaxBatch)]
		if !n.putPart(w, part) {
			return accepted
		}
		accepted += len(part)
		batch = batch[len(part):]
	}
	return accepted
}

// putPart gives a walk's entry up to MaxBatch items.
func (n *Net[T]) putPart(w *walk[T], part []T) bool {
	p := &w.entry.ports[0]
	if p.next == nil {
		return n.offer(p, append(n.buffer(), part...), &w.clock)
	}
	if p.seated {
		return n.enter(p, part, &w.clock)
	}
	w.entry.descend(p, part)
	return true
}

// borrow gives a walk to a caller, nil when the net takes nothing.
func (n *Net[T]) borrow() *walk[T] {
	w := n.spare.Swap(nil)
	if w != nil && !n.shut.Load() {
		return w
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if w != nil {
		n.rest = append(n.rest, w)
	}
	if n.state != running || n.shut.Load() {
		return nil
	}
	if last := len(n.rest) - 1; last >= 0 {
		w = n.rest[last]
		n.rest = n.rest[:last]
		return w
	}
	n.walks++
	return n.newWalk()
}

func (n *Net[T]) giveBack(w *walk[T]) {
	if n.spare.CompareAndSwap(nil, w) {
		return
	}
	n.mu.Lock()
	n.rest = append(n.rest, w)
	n.mu.Unlock()
}

// newWalk makes a walk. The caller holds the lock.
func (n *Net[T]) newWalk() *walk[T] {
	w := &walk[T]{lane: n.newLane()}
	w.entry = Out[T]{net: n, clock: &w.clock, count: new(stageCounts)}
	w.outs = make([]Out[T], len(n.stages))
	for _, e := range n.edges {
		if e.From == Entry {
			w.entry.ports = n.portsOf(w, []*edge{e})
			w.rows = append(w.rows, len(n.stages)+e.number)
		}
	}
	if n.way == Network {
		return w
	}
	w.rows = w.rows[:0]
	for i, s := range n.stages {
		w.outs[i] = Out[T]{net: n, node: s, run: s.Do, clock: &w.clock, count: w.lane.stage(i), ports: n.portsOf(w, s.ports)}
		w.rows = append(w.rows, i)
	}
	for i := range n.edges {
		w.rows = append(w.rows, len(n.stages)+i)
	}
	return w
}

// portsOf gives a walk its own ports of a stage, which lead to the walk's other stages by Chain.
func (n *Net[T]) portsOf(w *walk[T], edges []*edge) []port[T] {
	ports := make([]port[T], len(edges))
	for i, e := range edges {
		if e == nil {
			continue
		}
		ports[i] = port[T]{edge: e, count: w.lane.edge(len(n.stages), e.number)}
		if n.way == Chain {
			ports[i].next, ports[i].seated = &w.outs[e.to], n.stages[e.to].seats != nil
		}
	}
	return ports
}

// seated is descend into a stage that limits its width.
func (n *Net[T]) seated(p *port[T], batch []T, c *clock) {
	if !n.enter(p, batch, c) && p.edge.Full == Refuse {
		for _, item := range batch {
			n.fail(item, ErrFull)
		}
	}
}

// enter takes a seat in the stage, as the edge's policy allows, and runs it. It reports false when there was none.
func (n *Net[T]) enter(p *port[T], batch []T, c *clock) bool {
	s, amount := p.next.node, uint64(len(batch))
	select {
	case s.seats <- struct{}{}:
	default:
		if !n.queueFor(s, p.edge, c) {
			p.count[lost(p.edge.Full)] += amount
			return false
		}
	}
	p.count[sent] += amount
	p.next.guarded(batch)
	<-s.seats
	return true
}

// queueFor waits for a seat. Callers of a waiting edge may always wait.
func (n *Net[T]) queueFor(s *node[T], e *edge, c *clock) bool {
	waiting := s.queued.Add(1)
	defer s.queued.Add(-1)
	if e.Full != Wait && waiting > int64(e.Cap) {
		return false
	}
	if c.on {
		begin := time.Now()
		defer func() { c.inner += time.Since(begin) }()
	}
	select {
	case s.seats <- struct{}{}:
		return true
	case <-n.done:
		return false
	}
}

func lost(full Policy) int {
	if full == Refuse {
		return refused
	}
	return dropped
}
