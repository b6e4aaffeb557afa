package flow

// parcel is a batch under way: the stages pass it on, and who is done with it gives it back.
type parcel[T any] struct {
	items []T // with room for MaxBatch
	edge  *edge[T]
}

// fill is a parcel with a copy of a batch.
func (n *Net[T]) fill(batch []T) *parcel[T] {
	p := n.parcels.Get().(*parcel[T])
	p.items = append(p.items, batch...)
	return p
}

// recycle keeps a parcel that nobody has any more.
func (n *Net[T]) recycle(p *parcel[T]) {
	clear(p.items)
	p.items = p.items[:0]
	n.parcels.Put(p)
}

// work is a worker's goroutine. Run starts it, and it ends when its stage's queue is closed.
func (o *owner[T]) work() {
	defer o.net.giveBack(o)
	queue := o.first.node.queue
	for {
		p := queue.Poll()
		if p == nil {
			o.lane.show()
			if p = queue.Take(); p == nil {
				return
			}
		}
		o.handle(p)
	}
}

// handle runs a worker's stage on a parcel.
func (o *owner[T]) handle(p *parcel[T]) {
	o.tick()
	done, amount := &o.taken[p.edge.row][taken], uint64(len(p.items)) // p may be another's soon
	o.first.parcel = p
	o.first.guarded(p.items)
	if o.first.parcel != nil {
		o.net.recycle(p)
	}
	*done += amount
}

// send puts a parcel on its way if the edge's policy finds room. Otherwise its items are lost, as the policy says.
func (o *owner[T]) send(p *port[T], full *parcel[T]) (done bool) {
	amount, queue, policy := uint64(len(full.items)), p.edge.to.queue, p.edge.Full
	full.edge = p.edge
	if done = queue.Offer(full); !done && policy == Wait {
		before := o.clock.charge(nil)
		done = queue.Put(full)
		o.clock.charge(before)
	}
	if done { // and the parcel is another's
		p.count[sent] += amount
		return true
	}
	p.count[lost+policy] += amount
	switch {
	case p.edge.From == Entry: // Put tells its caller
	case policy == Refuse:
		o.net.fail(full.items, ErrFull)
	case policy == Wait: // in vain, past a stop's deadline
		o.net.fail(full.items, ErrStopped)
	}
	o.net.recycle(full)
	return false
}

func (n *Net[T]) fail(items []T, why error) {
	for _, item := range items {
		if n.failed != nil {
			n.failed(item, why)
		}
	}
}
