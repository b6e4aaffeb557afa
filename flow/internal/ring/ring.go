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
	"time"
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

// Put waits until it could put p into the queue. It is not done when the queue is closed, or when something came by latec, which
// may be nil, before.
func (q *Queue[P]) Put(p *P, latec <-chan time.Time) (done, late bool) {
	late = q.freed.wait(func() bool {
		done = q.Offer(p)
		return done || q.closed.Load()
	}, latec)
	return done, late
}

// Poll takes an element out of the queue, nil when there is none.
func (q *Queue[P]) Poll() (p *P) {
	if q.head.shared {
		q.head.mu.Lock()
	}
	slot := &q.slots[q.head.next]
	if slot.Load() != nil {
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

// Take waits for an element. It returns nil when the queue is closed.
func (q *Queue[P]) Take() (p *P) {
	q.filled.wait(func() bool {
		p = q.Poll()
		return p != nil || q.closed.Load()
	}, nil)
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

// wait returns when it is so, or when something has come by latec.
func (b *bell) wait(so func() bool, latec <-chan time.Time) (late bool) {
	for !so() {
		b.waiting.Add(1)
		if so() { // meanwhile
			if !b.countOut() {
				<-b.rung // somebody rings already
			}
			return false
		}
		if latec == nil { // a select costs more
			<-b.rung
			continue
		}
		select {
		case <-b.rung:
		case <-latec:
			if !b.countOut() {
				<-b.rung // somebody rings already, and another may wait for what that was about
				b.ring()
			}
			return true
		}
	}
	return false
}
