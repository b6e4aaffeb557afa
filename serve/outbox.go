package serve

import (
	"slices"
	"sync"
	"sync/atomic"
)

// taker passes bytes to the kernel without waiting.
type taker interface {
	// returns how many it took; an error means that none will ever be taken again
	tryWrite(p []byte) (int, error)
	// whether the peer has not acknowledged some of them, as far as that is known
	inFlight() bool
}

// outbox keeps the order of what a connection's owner and others write to it, and holds what the
// kernel has not taken. It is bounded for others by limit; the owner stops reading while anything
// waits.
type outbox struct {
	waiting atomic.Bool // queue is not empty; written under mu

	mu     sync.Mutex
	queue  []byte
	busy   bool // the owner is writing without the lock: queue behind it
	closed bool
}

// put writes p now or queues it. Above limit it takes nothing and reports false; a limit below zero
// is none.
func (b *outbox) put(p []byte, t taker, limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || limit >= 0 && len(b.queue) > 0 && len(b.queue)+len(p) > limit {
		return false
	}
	n := 0
	if !b.busy && len(b.queue) == 0 {
		var err error
		if n, err = t.tryWrite(p); err != nil {
			return false
		}
	}
	if n < len(p) {
		b.queue = append(b.queue, p[n:]...)
		b.waiting.Store(true)
	}
	return true
}

// flush passes on what the kernel takes now and reports whether nothing waits any more.
func (b *outbox) flush(t taker) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 {
		n, err := t.tryWrite(b.queue)
		if err != nil {
			return false, err
		}
		if n == 0 {
			return false, nil
		}
		b.queue = b.queue[n:]
	}
	b.queue = nil
	b.waiting.Store(false)
	return true, nil
}

// drain writes own, after what was queued before it, by a write that blocks without the lock. What
// a write that fails has left is queued, before what others have sent meanwhile.
func (b *outbox) drain(own []byte, write func([]byte) (int, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 {
		own, b.queue = append(b.queue, own...), nil
	}
	b.busy = true
	for len(own) > 0 {
		b.waiting.Store(false)
		b.mu.Unlock()
		n, err := write(own)
		b.mu.Lock()
		if err != nil {
			b.busy = false
			b.queue = slices.Concat(own[n:], b.queue)
			b.waiting.Store(len(b.queue) > 0)
			return err
		}
		own, b.queue = b.queue, nil
	}
	b.busy = false
	return nil
}

// stranded says whether bytes wait and the owner, who is not writing, may not know.
func (b *outbox) stranded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0 && !b.busy
}

// length is how many bytes wait.
func (b *outbox) length() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// take takes what waits, and refuses what others send from now on.
func (b *outbox) take() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	p := b.queue
	b.queue = nil
	return p
}

// begin has p wait. Nobody else has the outbox yet.
func (b *outbox) begin(p []byte) {
	b.queue = p
	b.waiting.Store(len(p) > 0)
}

// close refuses what others send from now on.
func (b *outbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
}
