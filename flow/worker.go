package flow

import (
	"runtime"
	"time"
)

// yields is how often a caller of Put lets others run before it sets a timer and waits.
const yields = 4

// parcel is a batch under way: the stages pass it on, and who is done with it gives it back.
type parcel[T any] struct {
	items []T // with room for MaxBatch
	edge  *edge[T]
	spilt bool // it has no place on its edge
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

// work is a worker's goroutine. Run starts it, and it ends when its stage's queue is closed. When a stage ends it by a Goexit,
// another goes on in its place.
func (o *owner[T]) work() {
	returned := false
	defer func() {
		if returned {
			o.net.leave(o)
			return
		}
		o.handled()
		go o.work()
	}()
	o.net.enter(o)
	node := o.first.node
	for {
		p := node.next()
		if p == nil {
			o.lane.show()
			if p = node.queue.Take(); p == nil {
				returned = true
				return
			}
		}
		o.handle(p)
	}
}

// next is a parcel that waits, nil when there is none.
func (s *node[T]) next() *parcel[T] {
	if s.spilt.Load() > 0 {
		if p := s.unspill(); p != nil {
			return p
		}
	}
	return s.queue.Poll()
}

// handle runs a worker's stage on a parcel.
func (o *owner[T]) handle(p *parcel[T]) {
	if p.spilt {
		p.spilt = false
	} else if p.edge.places != nil {
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

// send puts a parcel on its way if the edge's policy finds room. Otherwise its items are lost, as the policy says.
func (o *owner[T]) send(p *port[T], full *parcel[T]) (done bool) {
	amount, queue, policy := uint64(len(full.items)), p.edge.to.queue, p.edge.Full
	full.edge = p.edge
	if done = (p.edge.places == nil || o.reserve(p.edge)) && queue.Offer(full); !done && policy == Wait {
		before := o.clock.charge(nil)
		done = o.wait(p.edge, full)
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

// reserve takes a place on an edge that has places of its own, and reports false if none is free.
func (o *owner[T]) reserve(e *edge[T]) bool {
	select {
	case e.places <- struct{}{}:
		return true
	default:
		return false
	}
}

// wait puts a parcel on its way when there is room. Only a stop's deadline is too late.
func (o *owner[T]) wait(e *edge[T], full *parcel[T]) bool {
	var latec <-chan time.Time // nil: not from outside the stages
	if e.From == Entry {
		for range yields {
			runtime.Gosched() // there often is room then, and a timer costs more
			if (e.places == nil || o.reserve(e)) && e.to.queue.Offer(full) {
				return true
			}
		}
		latec = o.alarm()
		defer o.late.Stop()
	}
	for {
		done, late := o.waitUntil(e, full, latec)
		if !late {
			return done
		}
		if o.net.inside() {
			return o.spill(e, full)
		}
		latec = nil
	}
}

// alarm is the owner's timer, set.
func (o *owner[T]) alarm() <-chan time.Time {
	if o.late == nil {
		o.late = time.NewTimer(insideWait)
	} else {
		o.late.Reset(insideWait)
	}
	return o.late.C
}

// waitUntil is wait, but for a time that may come before.
func (o *owner[T]) waitUntil(e *edge[T], full *parcel[T], latec <-chan time.Time) (done, late bool) {
	if e.places == nil {
		return e.to.queue.Put(full, latec)
	}
	select {
	case e.places <- struct{}{}:
		return e.to.queue.Offer(full), false
	case <-o.net.done:
		return false, false
	case <-latec:
		return false, true
	}
}

func (n *Net[T]) fail(items []T, why error) {
	for _, item := range items {
		if n.failed != nil {
			n.failed(item, why)
		}
	}
}
