// Package ring is a bounded queue of pointers between goroutines, for where a channel costs too
// much: an element takes one atomic exchange on either side, where a channel takes and leaves a
// lock. A slot that holds nil is free, so that sender and receiver need not read one another's
// position. Several senders take turns by a lock, and so do several receivers.
//
// A sender that must not wait can have an element kept beside the slots ([Queue.Spill]). Receivers
// take turns between the slots and what is beside them, so that neither starves.
//
// # Limitations
//
// Elements that one sender puts into slots keep their order, and so do those beside them; senders
// that wait are not served in theirs. A queue cannot stand in a select.
package ring

import (
	"sync"
	"sync/atomic"
)

// Queue is a queue of *P. Its methods may be called by any of its senders, or of its receivers.
type Queue[P any] struct {
	slots   []atomic.Pointer[P]
	closed  atomic.Bool
	spilled atomic.Int32 // length of beside
	filled  bell         // rung by senders
	freed   bell         // rung by receivers
	_       [64]byte
	tail    end // where senders put; away from the receivers' cache line
	_       [64]byte
	head    end  // where receivers take
	turn    bool // the receivers': the last element came from beside the slots

	besideMu sync.Mutex // guards beside
	beside   []*P       // spilled elements, the first to take first
}

// end is one end of a queue.
type end struct {
	shared bool       // by several goroutines
	mu     sync.Mutex // guards next, if shared
	next   int        // slot
}

// New makes a queue with room for so many elements, at least one. One sender, or one receiver, that
// says so saves a lock.
func New[P any](room int, manySenders, manyReceivers bool) *Queue[P] {
	q := &Queue[P]{slots: make([]atomic.Pointer[P], room)}
	q.filled.rung, q.freed.rung = make(chan struct{}, 1), make(chan struct{}, 1)
	q.tail.shared, q.head.shared = manySenders, manyReceivers
	return q
}

// Offer puts p, which is not nil, into the queue. It reports false when there is no room, or the
// queue is closed.
func (q *Queue[P]) Offer(p *P) (done bool) {
	if q.tail.shared {
		q.tail.mu.Lock()
	}
	slot := &q.slots[q.tail.next]
	if slot.Load() == nil {
		slot.Store(p)
		// Once closed, nobody may come for p; if nobody has, it is still here.
		if done = !q.closed.Load() || !slot.CompareAndSwap(p, nil); done {
			q.tail.step(len(q.slots))
		}
	}
	if q.tail.shared {
		q.tail.mu.Unlock()
	}
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

// Spill keeps p, which is not nil, beside the slots and does not wait. It reports false when so
// many elements as limit says are there, or the queue is closed.
func (q *Queue[P]) Spill(p *P, limit int) (done bool) {
	q.besideMu.Lock()
	if done = len(q.beside) < limit && !q.closed.Load(); done {
		q.beside = append(q.beside, p)
		q.spilled.Store(int32(len(q.beside)))
	}
	q.besideMu.Unlock()
	if done {
		q.filled.ring()
	}
	return done
}

// Poll takes an element out of the queue, nil when there is none.
func (q *Queue[P]) Poll() (p *P) {
	if q.head.shared {
		q.head.mu.Lock()
	}
	if q.spilled.Load() > 0 {
		p = q.pollBoth()
	} else if slot := &q.slots[q.head.next]; slot.Load() != nil {
		if p = slot.Swap(nil); p != nil { // nil: Close was faster
			q.head.step(len(q.slots))
		}
	}
	if q.head.shared {
		q.head.mu.Unlock()
	}
	if p != nil {
		q.freed.ring()
	}
	return p
}

// pollBoth takes an element out of the slots or from beside them, in turns. The caller is the only
// receiver or holds the lock of the head.
func (q *Queue[P]) pollBoth() (p *P) {
	if q.turn = !q.turn; q.turn {
		if p = q.unspill(); p != nil {
			return p
		}
	}
	if p = q.slots[q.head.next].Swap(nil); p != nil {
		q.head.step(len(q.slots))
		return p
	}
	return q.unspill()
}

// unspill takes the first element from beside the slots, nil when there is none.
func (q *Queue[P]) unspill() (p *P) {
	q.besideMu.Lock()
	defer q.besideMu.Unlock()
	if len(q.beside) == 0 {
		return nil
	}
	p, q.beside[0] = q.beside[0], nil
	q.beside = q.beside[1:]
	if len(q.beside) == 0 {
		q.beside = nil
	}
	q.spilled.Store(int32(len(q.beside)))
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

// Close sends home everybody who waits, and returns what was left in the queue, in no order.
// Afterwards nothing more gets in.
func (q *Queue[P]) Close() (rest []*P) {
	q.closed.Store(true)
	for i := range q.slots {
		if p := q.slots[i].Swap(nil); p != nil {
			rest = append(rest, p)
		}
	}
	for p := q.unspill(); p != nil; p = q.unspill() { // Spill adds none once closed is set
		rest = append(rest, p)
	}
	for q.filled.ring() || q.freed.ring() {
	}
	return rest
}

func (e *end) step(size int) {
	if e.next++; e.next == size {
		e.next = 0
	}
}

// bell wakes those who wait for something to become so, one for each ring.
type bell struct {
	waiting atomic.Int32
	rung    chan struct{} // with room for one, never closed. From who rings -> to one who waits
}

// ring wakes one who waits, if there is one. Whoever rings has made it so before.
func (b *bell) ring() bool {
	if b.waiting.Load() == 0 || !b.countOut() {
		return false
	}
	b.rung <- struct{}{}
	return true
}

// countOut takes one from those who wait. It reports false when nobody does.
func (b *bell) countOut() bool {
	for n := b.waiting.Load(); n > 0; n = b.waiting.Load() {
		if b.waiting.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// wait returns when it is so.
func (b *bell) wait(so func() bool) {
	for !so() {
		b.waiting.Add(1)
		if so() { // meanwhile
			if !b.countOut() {
				<-b.rung // somebody rings already
			}
			return
		}
		<-b.rung
	}
}
