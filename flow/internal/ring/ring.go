// Package ring is a bounded queue of pointers between goroutines, for where a channel costs too much: an element
// takes one atomic exchange on either side, where a channel takes and leaves a lock. A slot that holds nil is
// free, so that sender and receiver need not read one another's position. Several senders take turns by a lock,
// and so do several receivers.
//
// # Limitations
//
// Elements of one sender keep their order; senders that wait are not served in theirs. A queue cannot stand in a select.
package ring

import (
	"sync"
	"sync/atomic"
)

// Queue is a queue of *P. Its methods may be called by any of its senders, or of its receivers.
type Queue[P any] struct {
	slots  []atomic.Pointer[P]
	closed atomic.Bool
	filled bell // rung by senders
	freed  bell // rung by receivers
	_      [64]byte
	tail   end // where senders put; away from the receivers' cache line
	_      [64]byte
	head   end // where receivers take
}

// end is one end of a queue.
type end struct {
	shared bool       // by several goroutines
	mu     sync.Mutex // guards next, if shared
	next   int        // slot
}

// New makes a queue with room for so many elements, at least one. One sender, or one receiver, that says so saves a lock.
func New[P any](room int, manySenders, manyReceivers bool) *Queue[P] {
	q := &Queue[P]{slots: make([]atomic.Pointer[P], room)}
	q.filled.rung, q.freed.rung = make(chan struct{}, 1), make(chan struct{}, 1)
	q.tail.shared, q.head.shared = manySenders, manyReceivers
	return q
}

// Offer puts p, which is not nil, into the queue. It reports false when there is no room, or the queue is closed.
func (q *Queue[P]) Offer(p *P) bool {
	q.tail.enter()
	slot := &q.slots[q.tail.next]
	done := slot.Load() == nil
	if done {
		slot.Store(p)
		if q.closed.Load() && slot.CompareAndSwap(p, nil) { // nobody came for it, and nobody may come
			done = false
		} else {
			q.tail.step(len(q.slots))
		}
	}
	q.tail.leave()
	if done {
		q.filled.ring()
	}
	return done
}

// Put waits until it could put p into the queue. It reports false when the queue is closed.
func (q *Queue[P]) Put(p *P) (done bool) {
	q.freed.wait(func() bool {
		done = q.Offer(p)
		return done || q.closed.Load()
	})
	return done
}

// Poll takes an element out of the queue, nil when there is none.
func (q *Queue[P]) Poll() *P {
	q.head.enter()
	slot := &q.slots[q.head.next]
	p := slot.Load()
	if p != nil {
		if p = slot.Swap(nil); p != nil { // nil: Close was faster
			q.head.step(len(q.slots))
		}
	}
	q.head.leave()
	if p != nil {
		q.freed.ring()
	}
	return p
}

// Take waits for an element. It returns nil when the queue is closed.
func (q *Queue[P]) Take() (p *P) {
	q.filled.wait(func() bool {
		p = q.Poll()
		return p != nil || q.closed.Load()
	})
	return p
}

// Close sends home everybody who waits, and returns what was left in the queue, in no order. Afterwards
// nothing more gets in.
func (q *Queue[P]) Close() (rest []*P) {
	q.closed.Store(true)
	for i := range q.slots {
		if p := q.slots[i].Swap(nil); p != nil {
			rest = append(rest, p)
		}
	}
	q.filled.ring()
	q.freed.ring()
	return rest
}

func (e *end) enter() {
	if e.shared {
		e.mu.Lock()
	}
}

func (e *end) leave() {
	if e.shared {
		e.mu.Unlock()
	}
}

func (e *end) step(size int) {
	if e.next++; e.next == size {
		e.next = 0
	}
}

// bell wakes those who wait for something to become so.
type bell struct {
	waiting atomic.Int32
	rung    chan struct{} // with room for one, never closed. From who made it so -> to one who waits, who wakes the next
}

func (b *bell) ring() {
	if b.waiting.Load() == 0 {
		return
	}
	select {
	case b.rung <- struct{}{}:
	default: // one is being woken, and will look
	}
}

// wait returns when it is so. Whoever rings has made it so before.
func (b *bell) wait(so func() bool) {
	b.waiting.Add(1)
	for !so() {
		<-b.rung
	}
	b.waiting.Add(-1)
	b.ring()
}
