// Package ring is a bounded queue of pointers between goroutines, for places where a channel costs
// too much. An element takes one atomic exchange on either side, where a channel takes and releases
// a lock. A slot that holds nil is free, so that sender and receiver need not read each other's
// position. Several senders share a lock, and so do several receivers.
//
// A sender that must not wait can have an element kept in an overflow list ([Queue.Spill]).
// Receivers alternate between the slots and the overflow list, so that neither starves.
//
// # Limitations
//
// Elements that one sender puts into slots keep their order, and so do those in the overflow list.
// Waiting senders are not served in their order of arrival. A queue cannot be part of a select.
package ring

import (
	"sync"
	"sync/atomic"
)

// Queue is a queue of *P. Any of its senders or receivers may call its methods.
type Queue[P any] struct {
	slots        []atomic.Pointer[P]
	closed       atomic.Bool
	overflowLen  atomic.Int32 // length of overflow
	notEmpty     wakeup       // notified by senders
	notFull      wakeup       // notified by receivers
	_            [64]byte
	tail         end // where senders put; not in the receivers' cache line
	_            [64]byte
	head         end  // where receivers take
	fromOverflow bool // the receivers': the last element came from overflow

	overflowMu sync.Mutex // guards overflow
	overflow   []*P       // spilled elements, the first to receive first
}

// end is one end of a queue.
type end struct {
	shared bool       // several goroutines use this end
	mu     sync.Mutex // guards next, if shared
	next   int        // index of the next slot
}

// New makes a queue with the given number of slots, at least one. A queue with one sender, or one
// receiver, saves a lock.
func New[P any](room int, manySenders, manyReceivers bool) *Queue[P] {
	q := &Queue[P]{slots: make([]atomic.Pointer[P], room)}
	q.notEmpty.wakec, q.notFull.wakec = make(chan struct{}, 1), make(chan struct{}, 1)
	q.tail.shared, q.head.shared = manySenders, manyReceivers
	return q
}

// Offer puts p, which must not be nil, into the queue if there is room, and reports whether it did.
// It never does once the queue is closed.
func (q *Queue[P]) Offer(p *P) (done bool) {
	if q.tail.shared {
		q.tail.mu.Lock()
	}
	slot := &q.slots[q.tail.next]
	if slot.Load() == nil {
		slot.Store(p)
		// After Close no receiver may come for p. If Close has not taken it, it is still here.
		if done = !q.closed.Load() || !slot.CompareAndSwap(p, nil); done {
			q.tail.step(len(q.slots))
		}
	}
	if q.tail.shared {
		q.tail.mu.Unlock()
	}
	if done {
		q.notEmpty.notify()
	}
	return done
}

// Put puts p into the queue, and waits for room. It reports whether it did: not if the queue is
// closed.
func (q *Queue[P]) Put(p *P) (done bool) {
	q.notFull.wait(func() bool {
		done = q.Offer(p)
		return done || q.closed.Load()
	})
	return done
}

// Spill adds p, which must not be nil, to the overflow list without waiting, and reports whether it
// did. It does not if the list has limit elements, or the queue is closed.
func (q *Queue[P]) Spill(p *P, limit int) (done bool) {
	q.overflowMu.Lock()
	if done = len(q.overflow) < limit && !q.closed.Load(); done {
		q.overflow = append(q.overflow, p)
		q.overflowLen.Store(int32(len(q.overflow)))
	}
	q.overflowMu.Unlock()
	if done {
		q.notEmpty.notify()
	}
	return done
}

// Poll receives an element without waiting, nil if there is none.
func (q *Queue[P]) Poll() (p *P) {
	if q.head.shared {
		q.head.mu.Lock()
	}
	if q.overflowLen.Load() > 0 {
		p = q.pollBothLocked()
	} else if slot := &q.slots[q.head.next]; slot.Load() != nil {
		if p = slot.Swap(nil); p != nil { // nil: Close has taken it
			q.head.step(len(q.slots))
		}
	}
	if q.head.shared {
		q.head.mu.Unlock()
	}
	if p != nil {
		q.notFull.notify()
	}
	return p
}

// pollBothLocked receives from the slots or the overflow list, alternately. The caller is the only
// receiver or holds the lock of the head.
func (q *Queue[P]) pollBothLocked() (p *P) {
	if q.fromOverflow = !q.fromOverflow; q.fromOverflow {
		if p = q.takeOverflow(); p != nil {
			return p
		}
	}
	if p = q.slots[q.head.next].Swap(nil); p != nil {
		q.head.step(len(q.slots))
		return p
	}
	return q.takeOverflow()
}

// takeOverflow receives the first element of the overflow list, nil if there is none.
func (q *Queue[P]) takeOverflow() (p *P) {
	q.overflowMu.Lock()
	defer q.overflowMu.Unlock()
	if len(q.overflow) == 0 {
		return nil
	}
	p, q.overflow[0] = q.overflow[0], nil
	q.overflow = q.overflow[1:]
	if len(q.overflow) == 0 {
		q.overflow = nil
	}
	q.overflowLen.Store(int32(len(q.overflow)))
	return p
}

// Take receives an element, and waits for one. It returns nil if the queue is closed.
func (q *Queue[P]) Take() (p *P) {
	q.notEmpty.wait(func() bool {
		p = q.Poll()
		return p != nil || q.closed.Load()
	})
	return p
}

// Close wakes every waiting sender and receiver, and returns the elements that were left, in no
// order. The queue accepts no more.
func (q *Queue[P]) Close() (rest []*P) {
	q.closed.Store(true)
	for i := range q.slots {
		if p := q.slots[i].Swap(nil); p != nil {
			rest = append(rest, p)
		}
	}
	// Spill adds none once closed is set
	for p := q.takeOverflow(); p != nil; p = q.takeOverflow() {
		rest = append(rest, p)
	}
	for q.notEmpty.notify() || q.notFull.notify() {
	}
	return rest
}

func (e *end) step(size int) {
	if e.next++; e.next == size {
		e.next = 0
	}
}

// wakeup wakes waiting goroutines when a condition becomes true, one for each notification.
type wakeup struct {
	waiters atomic.Int32
	wakec   chan struct{} // capacity one, never closed. From the notifier -> to one waiter
}

// notify wakes one waiter, and reports whether there was one. The caller has made the condition
// true before.
func (b *wakeup) notify() bool {
	if b.waiters.Load() == 0 || !b.removeWaiter() {
		return false
	}
	b.wakec <- struct{}{}
	return true
}

// removeWaiter removes one from the count of waiters. It reports whether there was one.
func (b *wakeup) removeWaiter() bool {
	for n := b.waiters.Load(); n > 0; n = b.waiters.Load() {
		if b.waiters.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// wait returns when cond is true.
func (b *wakeup) wait(so func() bool) {
	for !so() {
		b.waiters.Add(1)
		if so() { // cond became true meanwhile
			if !b.removeWaiter() {
				<-b.wakec // another goroutine is already notifying
			}
			return
		}
		<-b.wakec
	}
}
