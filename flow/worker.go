package flow

// parcel is a batch under way: the stages pass it on, and who is done with it gives it back.
type parcel[T any] struct {
	items  []T // with room for MaxBatch
	edge   *edge[T]
	placed bool // it has one of its edge's places
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
	p.items, p.placed = p.items[:0], false
	n.parcels.Put(p)
}

// work is a worker's goroutine. Run starts it, and it ends when its stage's queue is closed. When a
// stage ends it by a Goexit, another goes on in its place.
func (o *owner[T]) work() {
	returned := false
	defer func() {
		if returned {
			o.net.giveBack(o)
			return
		}
		o.handled()
		go o.work()
	}()
	queue := o.first.node.queue
	for {
		p := queue.Poll()
		if p == nil {
			o.lane.show()
			if p = queue.Take(); p == nil {
				returned = true
				return
			}
		}
		o.handle(p)
	}
}

// handle runs a worker's stage on a parcel.
func (o *owner[T]) handle(p *parcel[T]) {
	if p.placed {
		p.placed = false
		<-p.edge.places
	}
	o.tick()
	o.done, o.amount = &o.taken[p.edge.row][taken], uint64(len(p.items)) // p may be another's soon
	o.first.parcel = p
	o.first.guarded(p.items)
	o.handled()
}

// handled counts the parcel in hand as done with.
func (o *owner[T]) handled() {
	if p := o.first.parcel; p != nil {
		o.first.parcel = nil
		o.net.recycle(p)
	}
	*o.done += o.amount
}

// send puts a parcel on its way if the edge's policy finds room. Otherwise its items are lost, as
// the policy says.
func (o *owner[T]) send(p *port[T], full *parcel[T]) (done bool) {
	amount, queue, policy := uint64(len(full.items)), p.edge.to.queue, p.edge.Full
	full.edge = p.edge
	if p.edge.places == nil || p.edge.reserve(full) {
		done = queue.Offer(full)
	}
	if !done && policy == Wait {
		before := o.clock.charge(nil)
		done = o.net.wait(p.edge, full)
		o.clock.charge(before)
	}
	if done { // and the parcel is another's
		p.count[sent] += amount
		return true
	}
	o.lose(p, full, policy, p.edge.From != Entry) // of the entry, Put tells its caller
	return false
}

// lose counts a parcel that its edge did not take. The error function gets the items if tell is
// set, unless they are dropped: those of an edge that waits were too late for a stop's deadline.
func (o *owner[T]) lose(p *port[T], full *parcel[T], policy Policy, tell bool) {
	p.count[lost+policy] += uint64(len(full.items))
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
		if n.failed != nil {
			n.failed(item, why)
		}
	}
}
