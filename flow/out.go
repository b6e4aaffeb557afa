package flow

import "slices"

// Out is where a stage sends items on, and puts new ones into the net. It is valid during the call
// of Do, for the goroutine that called.
type Out[T any] struct {
	owner    *owner[T]
	node     *node[T]
	do       func([]T, *Out[T])
	counters *counters
	ports    []port[T]

	// State of the call of Do.
	inHand []T // the items of the call; nil outside of it
	// Network: the batch from the queue, until Pass sends it on whole
	receivedBatch *queuedBatch[T]
	sentOn        int // items sent on
	// Each: the index of the item in hand, sentOn being of this item; otherwise -1
	eachIndex int
	pending   int // items buffered in the ports
}

// port is one exit of a stage, for one owner.
type port[T any] struct {
	edge      *edge[T] // nil: items leave the net here
	counters  *counters
	buffered  *queuedBatch[T] // items buffered by Send
	nextStage *Out[T]         // Chain: the stage at the edge's end
}

// Send sends one item on by a port. Items may be buffered until Do returns.
func (o *Out[T]) Send(number int, item T) {
	p := o.exit(number, 1)
	if p == nil {
		return
	}
	if p.buffered == nil {
		p.buffered = o.owner.net.fill(nil)
	}
	p.buffered.items = append(p.buffered.items, item)
	if o.pending++; len(p.buffered.items) == MaxBatch {
		o.flushPort(p)
	}
}

// Pass sends a batch on by a port: in, a part of it, or a slice of the stage's own. The stage must
// not use it afterwards.
func (o *Out[T]) Pass(number int, batch []T) {
	p := o.exit(number, len(batch))
	if p == nil {
		return
	}
	if next := p.nextStage; next != nil && len(batch) == 1 && o.pending == 0 && o.needsNoGuard() {
		// a direct call: fewer frames keep deep chains within the processor's return stack
		p.counters[edgeSent]++
		next.call(batch)
		return
	}
	o.passSlow(p, batch)
}

// exit counts items that are sent to a port and returns it, nil if they have left the net there.
func (o *Out[T]) exit(number, amount int) *port[T] {
	o.sentOn += amount
	if uint(number) < uint(len(o.ports)) && o.ports[number].edge != nil {
		return &o.ports[number]
	}
	o.counters[stageLeft] += uint64(amount)
	return nil
}

// passSlow is Pass for all other cases.
func (o *Out[T]) passSlow(p *port[T], batch []T) {
	o.flushPort(p) // items sent before go first
	if whole := o.receivedBatch; whole != nil && len(batch) == len(whole.items) && &batch[0] == &whole.items[0] {
		o.receivedBatch = nil
		o.owner.send(p, whole)
		return
	}
	for part := range slices.Chunk(batch, MaxBatch) {
		o.deliver(p, part)
	}
}

// flush sends on the items buffered by Send.
func (o *Out[T]) flush() {
	for i := range o.ports {
		o.flushPort(&o.ports[i])
	}
}

func (o *Out[T]) flushPort(p *port[T]) {
	full := p.buffered
	if full == nil {
		return
	}
	o.pending -= len(full.items)
	p.buffered = nil // if a later stage panics, the items are not sent again
	if p.nextStage == nil {
		o.owner.send(p, full)
		return
	}
	o.deliver(p, full.items)
	o.owner.net.recycle(full)
}

// deliver calls the next stage of a chain, or queues a copy of the batch. It reports whether the
// batch was taken; otherwise its items are lost.
func (o *Out[T]) deliver(p *port[T], batch []T) bool {
	if p.nextStage == nil {
		return o.owner.send(p, o.owner.net.fill(batch))
	}
	p.counters[edgeSent] += uint64(len(batch))
	if len(batch) == 1 && o.needsNoGuard() {
		p.nextStage.call(batch)
	} else {
		p.nextStage.runGuarded(batch)
	}
	return true
}

// needsNoGuard reports whether the next stage needs no guard of its own: nothing else is in hand,
// and the batch is not timed.
func (o *Out[T]) needsNoGuard() bool { return len(o.inHand) == 1 && !o.owner.clock.on }

// call runs the stage on a batch.
func (o *Out[T]) call(batch []T) {
	o.counters[stageCalls]++
	o.inHand, o.sentOn = batch, 0
	o.do(batch, o)
	if o.pending > 0 {
		o.flush()
	}
	o.inHand = nil
}
