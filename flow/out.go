package flow

import "slices"

// Out is where a stage hands its items on, and puts new ones into the net. It is valid during the
// call of Do, for the goroutine that called.
type Out[T any] struct {
	owner *owner[T]
	node  *node[T]
	do    func([]T, *Out[T])
	count *counts
	ports []port[T]

	// Of the call of Do.
	batch   []T        // that it was called with, nil outside of it
	parcel  *parcel[T] // Network: that the batch came in, until it is handed on whole
	moved   int        // items handed on
	at      int        // Each: where the item in hand is, moved being of this item; otherwise -1
	pending int        // items that wait in the ports
}

// port is one way out of a stage, of one owner.
type port[T any] struct {
	edge  *edge[T] // nil: nobody listens
	count *counts
	wait  *parcel[T] // what Send put by
	next  *Out[T]    // Chain: the stage at the edge's end
}

// Send hands one item on by a port. Items may wait for others until Do returns.
func (o *Out[T]) Send(number int, item T) {
	p := o.port(number, 1)
	if p == nil {
		return
	}
	if p.wait == nil {
		p.wait = o.owner.net.fill(nil)
	}
	p.wait.items = append(p.wait.items, item)
	if o.pending++; len(p.wait.items) == MaxBatch {
		o.flushPort(p)
	}
}

// Pass hands a batch on by a port: in, a part of it, or a slice of the stage's own. The stage must
// not touch it again.
func (o *Out[T]) Pass(number int, batch []T) {
	p := o.port(number, len(batch))
	if p == nil {
		return
	}
	if next := p.next; next != nil && len(batch) == 1 && o.pending == 0 && o.bare() {
		// straight away: fewer frames keep deep chains within the processor's return stack
		p.count[sent]++
		next.call(batch)
		return
	}
	o.pass(p, batch)
}

// port is the way to hand so many items on, nil when they have left the net by that.
func (o *Out[T]) port(number, amount int) *port[T] {
	o.moved += amount
	if uint(number) < uint(len(o.ports)) && o.ports[number].edge != nil {
		return &o.ports[number]
	}
	o.count[left] += uint64(amount)
	return nil
}

// pass is Pass where there is more to look at.
func (o *Out[T]) pass(p *port[T], batch []T) {
	o.flushPort(p) // what was sent before goes before
	if whole := o.parcel; whole != nil && len(batch) == len(whole.items) && &batch[0] == &whole.items[0] {
		o.parcel = nil
		o.owner.send(p, whole)
		return
	}
	for part := range slices.Chunk(batch, MaxBatch) {
		o.hand(p, part)
	}
}

// flush hands on what Send put by.
func (o *Out[T]) flush() {
	for i := range o.ports {
		o.flushPort(&o.ports[i])
	}
}

func (o *Out[T]) flushPort(p *port[T]) {
	full := p.wait
	if full == nil {
		return
	}
	o.pending -= len(full.items)
	p.wait = nil // should what is behind panic, it is not handed on again
	if p.next == nil {
		o.owner.send(p, full)
		return
	}
	o.hand(p, full.items)
	o.owner.net.recycle(full)
}

// hand calls the next stage of a chain, or puts a copy of the batch on its way. It reports false
// when it is lost.
func (o *Out[T]) hand(p *port[T], batch []T) bool {
	if p.next == nil {
		return o.owner.send(p, o.owner.net.fill(batch))
	}
	p.count[sent] += uint64(len(batch))
	if len(batch) == 1 && o.bare() {
		p.next.call(batch)
	} else {
		p.next.guarded(batch)
	}
	return true
}

// bare says whether what is behind needs no guard of its own: nothing else is in hand, and the time
// is not taken.
func (o *Out[T]) bare() bool { return len(o.batch) == 1 && !o.owner.clock.on }

// call runs the stage on a batch.
func (o *Out[T]) call(batch []T) {
	o.count[calls]++
	o.batch, o.moved = batch, 0
	o.do(batch, o)
	if o.pending > 0 {
		o.flush()
	}
	o.batch = nil
}
