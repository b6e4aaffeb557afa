package serve

import (
	"slices"
	"sync"
	"sync/atomic"
)

// nonblockingWriter writes to the kernel without waiting.
type nonblockingWriter interface {
	// tryWrite returns how many bytes the kernel took. An error means that it will take no more.
	tryWrite(p []byte) (int, error)
	// wrote handles the result of a write to the descriptor, and returns what tryWrite returns.
	wrote(n int, err error) (int, error)
	// inFlight reports whether the peer's kernel has yet to acknowledge written bytes, as far as
	// that is known.
	inFlight() bool
}

// outbox orders the output of a connection, which its owner and other goroutines write, and queues
// the bytes that the kernel has not taken. A limit bounds the queue for goroutines other than the
// owner. The owner stops reading while the queue is not empty (backpressure).
type outbox struct {
	nonEmpty atomic.Bool // the queue is not empty; written under mu

	mu           sync.Mutex
	queue        []byte
	ownerWriting bool // the owner is writing without the lock: append to the queue
	closed       bool // nothing is taken any more
	released     bool // the connection has ended: its descriptor may be another's
}

// put writes p now or queues it, and reports whether it did. It takes nothing if the queue would
// exceed limit; a negative limit means none.
func (b *outbox) put(p []byte, t nonblockingWriter, limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.takesLocked(p, limit) {
		return false
	}
	n := 0
	if b.canWriteLocked() {
		var err error
		if n, err = t.tryWrite(p); err != nil {
			return false
		}
	}
	b.queueLocked(p[n:])
	return true
}

// takesLocked reports whether p may be written or queued.
func (b *outbox) takesLocked(p []byte, limit int) bool {
	return !b.closed && (limit < 0 || len(b.queue) == 0 || len(b.queue)+len(p) <= limit)
}

// canWriteLocked reports whether the kernel may be given bytes: no others are to come before them.
func (b *outbox) canWriteLocked() bool { return !b.ownerWriting && len(b.queue) == 0 }

// queueLocked queues what the kernel has not taken.
func (b *outbox) queueLocked(rest []byte) {
	if len(rest) > 0 {
		b.queue = append(b.queue, rest...)
		b.nonEmpty.Store(true)
	}
}

// flush writes queued bytes until the kernel takes no more. It returns true if the queue is empty.
func (b *outbox) flush(t nonblockingWriter) (bool, error) {
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
	b.nonEmpty.Store(false)
	return true, nil
}

// writeAll writes the queue and then own, by a write that blocks without the lock. If that write
// fails, the rest is queued before the bytes that others have sent meanwhile.
func (b *outbox) writeAll(own []byte, write func([]byte) (int, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 {
		own, b.queue = append(b.queue, own...), nil
	}
	b.ownerWriting = true
	for len(own) > 0 {
		b.nonEmpty.Store(false)
		b.mu.Unlock()
		n, err := write(own)
		b.mu.Lock()
		if err != nil {
			b.ownerWriting = false
			b.queue = slices.Concat(own[n:], b.queue)
			b.nonEmpty.Store(len(b.queue) > 0)
			return err
		}
		own, b.queue = b.queue, nil
	}
	b.ownerWriting = false
	return nil
}

// hasOrphans reports whether bytes are queued and the owner, which is not writing, may not have
// seen them.
func (b *outbox) hasOrphans() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0 && !b.ownerWriting
}

// length returns how many bytes are queued.
func (b *outbox) length() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// takeRest closes the outbox and returns the queued bytes.
func (b *outbox) takeRest() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.released = true, true
	p := b.queue
	b.queue = nil
	return p
}

// preload queues p before any other goroutine has the outbox.
func (b *outbox) preload(p []byte) {
	b.queue = p
	b.nonEmpty.Store(len(p) > 0)
}

// close rejects later writes.
func (b *outbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
}

// release is called before the connection's descriptor may belong to another connection.
func (b *outbox) release() {
	b.mu.Lock()
	b.closed, b.released = true, true
	b.mu.Unlock()
}
