package flow

// queuedBatch is a batch in the net. Stages pass it on, and the last one recycles it.
type queuedBatch[T any] struct {
	items   []T // with room for MaxBatch
	edge    *edge[T]
	hasSlot bool // it occupies a slot of its edge
}

// fill returns a queuedBatch with a copy of a batch.
func (n *Net[T]) fill(batch []T) *queuedBatch[T] {
	p := n.batchPool.Get().(*queuedBatch[T])
	p.items = append(p.items, batch...)
	return p
}

// recycle keeps an unused queuedBatch for later use.
func (n *Net[T]) recycle(p *queuedBatch[T]) {
	clear(p.items)
	p.items, p.hasSlot = p.items[:0], false
	n.batchPool.Put(p)
}

// work is a worker's goroutine. Run starts it, and it ends when its stage's queue is closed. If a
// stage ends it by a Goexit, another goroutine continues.
func (o *owner[T]) work() {
	returned := false
	defer func() {
		if returned {
			o.net.releaseOwner(o)
			return
		}
		o.finishBatch()
		go o.work()
	}()
	queue := o.firstStage.node.queue
	for {
		p := queue.Poll()
		if p == nil {
			o.shard.publish()
			if p = queue.Take(); p == nil {
				returned = true
				return
			}
		}
		o.handle(p)
	}
}

// handle runs a worker's stage on a batch.
func (o *owner[T]) handle(p *queuedBatch[T]) {
	if p.hasSlot {
		p.hasSlot = false
		<-p.edge.slots
	}
	o.startBatch()
	// p may belong to the next stage soon
	o.handledCounter, o.itemsInHand = &o.edgeCounters[p.edge.row][edgeHandled], uint64(len(p.items))
	o.firstStage.receivedBatch = p
	o.firstStage.runGuarded(p.items)
	o.finishBatch()
}

// finishBatch counts the batch in hand as handled.
func (o *owner[T]) finishBatch() {
	if p := o.firstStage.receivedBatch; p != nil {
		o.firstStage.receivedBatch = nil
		o.net.recycle(p)
	}
	*o.handledCounter += o.itemsInHand
}

// send queues a batch if the edge's policy finds room, and reports whether it did. Otherwise its
// items are lost, as the policy says.
func (o *owner[T]) send(p *port[T], full *queuedBatch[T]) (done bool) {
	amount, queue, policy := uint64(len(full.items)), p.edge.to.queue, p.edge.WhenFull
	full.edge = p.edge
	if p.edge.slots == nil || p.edge.reserve(full) {
		done = queue.Offer(full)
	}
	if !done && policy == Wait {
		before := o.clock.charge(nil)
		done = o.net.waitSend(p.edge, full)
		o.clock.charge(before)
	}
	if done { // the batch belongs to the receiver now
		p.counters[edgeSent] += amount
		return true
	}
	o.lose(p, full, policy, p.edge.From != Entry) // Put reports the entry's losses to its caller
	return false
}

// lose counts a batch that its edge did not take. With report set, the error function receives the
// items unless they are dropped: those of a waiting edge were late for a stop's deadline.
func (o *owner[T]) lose(p *port[T], full *queuedBatch[T], policy Policy, tell bool) {
	p.counters[edgeLost+policy] += uint64(len(full.items))
	switch {
	case !tell:
	case policy == Refuse:
		o.net.fail(full.items, ErrFull)
	case policy == Wait:
		o.net.fail(full.items, ErrStopped)
	}
	o.net.recycle(full)
}

func (n *Net[T]) fail(items []T, why error) {
	for _, item := range items {
		if n.onLost != nil {
			n.onLost(item, why)
		}
	}
}
