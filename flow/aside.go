package flow

import "slices"

// A stage that waited for its own net could wait for itself: for room that only its own return
// makes, or for one of the places of its Width that it holds. What a stage puts by its Out is
// therefore put aside: by Network beside the entry's queue, by Chain with the owner.

// maxAside is how many batches may be put aside, by Network in all and by Chain by each caller of
// [Net.Put].
const maxAside = 1 << 16

// Put gives the stage's own net new items at the Entry, as [Net.Put] does from outside, and never
// waits. By Network the batch is kept beside the entry's queue if that is full; workers take in
// turns from there and from the queue. By Chain it passes through the net when the outermost call
// of a stage has returned. Up to 65,536 batches of at most [MaxBatch] items are kept; items beyond
// that go to the net's error function with [ErrFull]. The net drops or refuses items that meet a
// full Entry whose policy says so. It takes them while it is being stopped, too; those that are
// late for the stop's deadline go to the error function with [ErrStopped].
//
// The items that the stage was given are not affected: an item to be tried again is put and not
// sent on. The batch is the stage's again. Items put are in no order with others.
func (o *Out[T]) Put(batch []T) {
	for part := range slices.Chunk(batch, MaxBatch) {
		full := o.owner.net.fill(part)
		if o.owner.entry.next == nil {
			o.owner.putQueue(full)
		} else {
			o.owner.putAside(full)
		}
	}
}

// putQueue puts a parcel into the entry's queue or beside it.
func (o *owner[T]) putQueue(full *parcel[T]) {
	e, amount := o.entry.edge, uint64(len(full.items))
	full.edge = e
	switch {
	case (e.places == nil || e.reserve(full)) && e.to.queue.Offer(full),
		e.Full == Wait && e.to.queue.Spill(full, maxAside):
		o.entry.count[sent] += amount
	case e.Full == Wait && !ended(o.net.done):
		o.lose(o.entry, full, Refuse, true)
	default:
		o.lose(o.entry, full, e.Full, true)
	}
}

// putAside keeps a parcel with the owner.
func (o *owner[T]) putAside(full *parcel[T]) {
	if len(o.aside) == maxAside {
		o.lose(o.entry, full, Refuse, true)
		return
	}
	o.aside = append(o.aside, full)
}

// runAside takes through the net what the owner's stages have put aside, with all that these put
// aside meanwhile. The owner is in no stage's call. If a stage calls Goexit, giveBack has the rest
// run.
func (o *owner[T]) runAside() {
	for len(o.aside) > 0 {
		full := o.aside[0]
		o.aside[0], o.aside = nil, o.aside[1:]
		if ended(o.net.done) {
			o.lose(o.entry, full, Wait, true)
			continue
		}
		o.tick()
		o.first.hand(o.entry, full.items)
		o.net.recycle(full)
	}
	o.aside = nil
}

// endAside runs what is still put aside and then gives the owner back, which begins anew if a stage
// has ended this by a Goexit.
func (o *owner[T]) endAside() {
	defer o.net.giveBack(o)
	o.runAside()
}

// ended reports whether a channel is closed that carries nothing.
func ended(donec <-chan struct{}) bool {
	select {
	case <-donec:
		return true
	default:
		return false
	}
}
