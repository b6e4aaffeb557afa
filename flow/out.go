package flow

import (
	"runtime/debug"
	"slices"
	"time"
)

// Out is where a stage hands its items on. It is valid during the call of Do, for the goroutine that called.
type Out[T any] struct {
	net     *Net[T]
	node    *node[T]
	count   *stageCounts
	clock   *clock
	ports   []port[T]
	run     func([]T, *Out[T]) // the stage's Do
	busy    bool               // within Do
	many    bool               // with more than one item
	pending int                // items in the ports' buffers
	moved   int                // items handed on in this call of Do
	at      int                // Each: the item in hand; below zero: the stage takes batches as they are
	in      []T                // Network: the batch that Do was called with, until it is handed on whole
	batch   []T                // that Do was called with
}

// port is one way out of a stage, of one owner.
type port[T any] struct {
	edge   *edge // nil: nobody listens
	count  *edgeCounts
	buffer []T     // of Send
	next   *Out[T] // Chain: the stage at the edge's end
	seated bool    // Chain: that limits its Width
}

// clock times one batch in sampleEvery of its owner.
type clock struct {
	on      bool
	batches uint
	inner   time.Duration // spent in what lies behind the stage that is being timed
}

const sampleEvery = 64

// tick begins a batch, and says whether it is the owner's turn to show its counters.
func (c *clock) tick() bool {
	c.batches++
	c.on = c.batches%sampleEvery == 0
	return c.on
}

// Send hands one item on by a port. Items may wait for others until Do returns.
func (o *Out[T]) Send(number int, item T) {
	o.moved++
	if number >= len(o.ports) || o.ports[number].edge == nil {
		o.count[left]++
		return
	}
	p := &o.ports[number]
	if p.buffer == nil {
		p.buffer = o.net.buffer()
	}
	p.buffer = append(p.buffer, item)
	if o.pending++; len(p.buffer) >= MaxBatch {
		o.flushPort(p)
	}
}

// Pass hands a batch on by a port, as it is: in or a part of it that was not passed before, or a slice of the
// stage's own. The stage must not touch it again.
func (o *Out[T]) Pass(number int, batch []T) {
	if len(batch) == 0 {
		return
	}
	o.moved += len(batch)
	if uint(number) >= uint(len(o.ports)) {
		o.count[left] += uint64(len(batch))
		return
	}
	p := &o.ports[number]
	if o.pending > 0 {
		o.flushPort(p) // what was sent before goes before
	}
	if p.next != nil {
		if len(batch) == 1 && !o.clock.on && !o.many && !p.seated {
			p.count[sent]++
			p.next.do(batch) // straight away: fewer frames keep deep chains within the processor's return stack
			return
		}
		o.descend(p, batch)
		return
	}
	if p.edge == nil {
		o.count[left] += uint64(len(batch))
		return
	}
	if len(o.in) > 0 && &batch[0] == &o.in[0] {
		if len(batch) < len(o.in) {
			batch = batch[:len(batch):len(batch)] // so that nobody fills up what is another's
		}
		o.in = nil
	}
	for len(batch) > MaxBatch {
		o.net.send(p, batch[:MaxBatch:MaxBatch], o.clock)
		batch = batch[MaxBatch:]
	}
	o.net.send(p, batch, o.clock)
}

// flush hands on what Send left waiting.
func (o *Out[T]) flush() {
	for i := range o.ports {
		o.flushPort(&o.ports[i])
	}
}

func (o *Out[T]) flushPort(p *port[T]) {
	batch := p.buffer
	if len(batch) == 0 {
		return
	}
	o.pending -= len(batch)
	if p.next == nil {
		p.buffer = nil
		o.net.send(p, batch, o.clock)
		return
	}
	p.buffer = nil // the stages behind may lead back here
	o.descend(p, batch)
	clear(batch)
	if p.buffer == nil {
		p.buffer = batch[:0]
	}
}

// descend calls the next stage of a chain.
func (o *Out[T]) descend(p *port[T], batch []T) {
	if p.seated {
		o.net.seated(p, batch, o.clock)
		return
	}
	p.count[sent] += uint64(len(batch))
	p.next.guarded(batch)
}

// do runs the stage on a batch. A single item that is passed has no guard of its own against panics, which would
// cost as much as all the rest: whoever began the walk has one.
func (o *Out[T]) do(batch []T) {
	o.count[calls]++
	o.count[items] += uint64(len(batch))
	o.batch, o.moved, o.at, o.busy = batch, 0, -1, true
	o.run(batch, o)
	if o.pending > 0 {
		o.flush()
	}
	o.busy = false
}

// guarded is call with a guard. It times the batch if it is to be timed: what is spent in the stages behind, or
// waiting for room there, is not the stage's.
func (o *Out[T]) guarded(batch []T) {
	for part := range slices.Chunk(batch, MaxBatch) {
		if !o.clock.on {
			o.guard(part)
			continue
		}
		outer := o.clock.inner
		o.clock.inner = 0
		begin := time.Now()
		o.guard(part)
		took := time.Since(begin)
		o.count[sampled] += uint64(len(part))
		o.count[nanos] += uint64(max(0, took-o.clock.inner))
		o.clock.inner = outer + took
	}
}

func (o *Out[T]) guard(batch []T) {
	defer o.rescue()
	o.many = len(batch) > 1
	o.do(batch)
	o.many = false
}

// rescue ends a panic of the stage, or of those behind it that had no guard. What they had in hand is lost, and
// the rest of an Each is done.
func (o *Out[T]) rescue() {
	if !o.busy {
		return // asking would cost more than the rest of the call
	}
	rest := o.collapse(&PanicError{Value: recover(), Stack: debug.Stack()})
	if len(rest) > 0 {
		o.guard(rest)
	}
}

// collapse takes the stage, and those behind it that it was calling, out of their calls. It returns what the
// stage has yet to do.
func (o *Out[T]) collapse(why *PanicError) (rest []T) {
	for i := range o.ports {
		if next := o.ports[i].next; next != nil && next.busy {
			next.collapse(why)
		}
	}
	first, last := min(o.moved, len(o.batch)), len(o.batch)
	if o.at >= 0 {
		first, last = o.at+min(o.moved, 1), o.at+1
	}
	if why.Stage == "" && o.node != nil {
		why.Stage = o.node.Name
	}
	o.count[failed] += uint64(last - first)
	for _, item := range o.batch[first:last] {
		o.net.fail(item, why)
	}
	o.busy, o.many = false, false
	o.flush()
	return o.batch[last:]
}
