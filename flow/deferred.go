package flow

import "slices"

// A stage that waited for its own net could deadlock: it would wait for room that only its own
// return makes, or for a slot of the Width that it occupies. So batches that a stage puts by its
// Out are deferred: by Network beside the entry's queue, by Chain with the owner.

// maxDeferred is how many batches may be deferred, by Network in all and by Chain by each caller of
// [Net.Put].
const maxDeferred = 1 << 16

// Put puts new items into the stage's own net at the Entry, as [Net.Put] does from outside, and
// never waits. By Network the batch is kept beside the entry's queue if that is full; workers
// alternate between both. By Chain the batch passes through the net when the outermost call of a
// stage has returned. Up to 65,536 batches of at most [MaxBatch] items are kept; further items go
// to the net's error function with [ErrFull]. A full Entry drops or refuses items if its policy
// says so. The net takes items during a stop, too; items after the stop's deadline go to the error
// function with [ErrStopped].
//
// The items that the stage was given are not affected: put an item that is to be tried again, and
// do not send it on. The slice belongs to the stage again when Put returns. Items that stages put
// have no order relative to others.
func (o *Out[T]) Put(batch []T) {
	for part := range slices.Chunk(batch, MaxBatch) {
		full := o.owner.net.fill(part)
		if o.owner.entryPort.nextStage == nil {
			o.owner.putQueue(full)
		} else {
			o.owner.deferBatch(full)
		}
	}
}

// putQueue puts a batch into the entry's queue or beside it.
func (o *owner[T]) putQueue(full *queuedBatch[T]) {
	e, amount := o.entryPort.edge, uint64(len(full.items))
	full.edge = e
	switch {
	case (e.slots == nil || e.reserve(full)) && e.to.queue.Offer(full),
		e.WhenFull == Wait && e.to.queue.Spill(full, maxDeferred):
		o.entryPort.counters[edgeSent] += amount
	case e.WhenFull == Wait && !isClosed(o.net.deadlinec):
		o.lose(o.entryPort, full, Refuse, true)
	default:
		o.lose(o.entryPort, full, e.WhenFull, true)
	}
}

// deferBatch keeps a batch with the owner.
func (o *owner[T]) deferBatch(full *queuedBatch[T]) {
	if len(o.deferred) == maxDeferred {
		o.lose(o.entryPort, full, Refuse, true)
		return
	}
	o.deferred = append(o.deferred, full)
}

// runDeferred runs the owner's deferred batches through the net, with those that are deferred
// meanwhile. No stage's call is under way. If a stage calls Goexit, releaseOwner runs the rest.
func (o *owner[T]) runDeferred() {
	for len(o.deferred) > 0 {
		full := o.deferred[0]
		o.deferred[0], o.deferred = nil, o.deferred[1:]
		if isClosed(o.net.deadlinec) {
			o.lose(o.entryPort, full, Wait, true)
			continue
		}
		o.startBatch()
		o.firstStage.deliver(o.entryPort, full.items)
		o.net.recycle(full)
	}
	o.deferred = nil
}

// finishDeferred runs the remaining deferred batches and then releases the owner. After a Goexit in
// a stage, that release starts it again.
func (o *owner[T]) finishDeferred() {
	defer o.net.releaseOwner(o)
	o.runDeferred()
}

// isClosed reports whether a channel that carries no values is closed.
func isClosed(donec <-chan struct{}) bool {
	select {
	case <-donec:
		return true
	default:
		return false
	}
}
