package tcpip

import (
	"cmp"
	"net"
	"net/netip"
	"sync"
	"time"
)

// datagram is a received datagram, packet or frame.
type datagram struct {
	from    netip.AddrPort
	to      netip.Addr // destination address; UDP only
	payload []byte
}

// chargedSize is what a queued datagram counts for: its payload and about 64 bytes of overhead.
func (d *datagram) chargedSize() int { return len(d.payload) + 64 }

// receiveQueue is the receive queue of a socket, a FIFO. A sender that fills its share cannot take
// the room of others.
type receiveQueue struct {
	readWaiter waiter

	mu         sync.Mutex
	ring       []datagram   // a ring buffer: its length is zero or a power of two
	oldest     int          // index of the oldest datagram
	queued     int          // datagrams in ring
	shares     clientShares // bytes in use by each sender
	dropped    uint64       // datagrams dropped because the queue was full
	limit      int          // bytes of all datagrams; 0: maxQueueBytes
	pendingErr error        // an ICMP error that the next call returns once
	closed     bool
	ready      *readySource // its entry in a ReadyQueue; nil: none
}

// maxSenderBytes limits the bytes of one sender in a queue, maxQueueBytes those of all senders.
// Datagrams beyond that are dropped.
const (
	maxSenderBytes = 256 << 10
	maxQueueBytes  = 2 * maxSenderBytes
)

// enqueue adds a datagram, and reports whether there was room.
func (b *receiveQueue) enqueue(d datagram) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shares.limit = cmp.Or(b.limit, maxQueueBytes)
	if b.closed || !b.shares.acquire(clientOf(d.from.Addr()), d.chargedSize()) {
		b.dropped++
		return false
	}
	if b.queued == len(b.ring) {
		b.growLocked()
	}
	b.ring[(b.oldest+b.queued)&(len(b.ring)-1)] = d
	b.queued++
	b.readWaiter.wake()
	b.ready.mark(ReadReady)
	return true
}

// growLocked doubles the ring. The caller holds mu.
func (b *receiveQueue) growLocked() {
	larger := make([]datagram, max(4, 2*len(b.ring)))
	n := copy(larger, b.ring[b.oldest:])
	copy(larger[n:], b.ring[:b.oldest])
	b.ring, b.oldest = larger, 0
}

// maxIdleRing is the size above which an empty ring is freed.
const maxIdleRing = 64

// dequeueLocked removes and returns the oldest datagram. The caller holds mu.
func (b *receiveQueue) dequeueLocked() datagram {
	d := b.ring[b.oldest]
	b.ring[b.oldest] = datagram{}
	b.oldest = (b.oldest + 1) & (len(b.ring) - 1)
	b.queued--
	b.shares.release(clientOf(d.from.Addr()), d.chargedSize())
	if b.queued == 0 && len(b.ring) > maxIdleRing {
		b.ring, b.oldest = nil, 0
	}
	return d
}

// setError makes the next read return an error when the queue is empty.
func (b *receiveQueue) setError(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pendingErr = err
	b.readWaiter.wake()
	b.ready.mark(ReadReady | WriteReady)
}

// takeError returns the error for a call that sends: net.ErrClosed, or, once, the ICMP error that
// an earlier datagram has caused.
func (b *receiveQueue) takeError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return net.ErrClosed
	}
	err := b.pendingErr
	b.pendingErr = nil
	return err
}

func (b *receiveQueue) tryRead() (d datagram, deadline time.Time, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	deadline = b.readWaiter.deadline
	if err = b.readWaiter.stopReason(b.closed); err != nil {
		return d, deadline, false, err
	}
	if b.queued > 0 {
		return b.dequeueLocked(), deadline, true, nil
	}
	err, b.pendingErr = b.pendingErr, nil
	return d, deadline, false, err
}

// read waits for a datagram.
func (b *receiveQueue) read() (datagram, error) {
	b.readWaiter.callMu.Lock()
	defer b.readWaiter.callMu.Unlock()
	for {
		d, deadline, ok, err := b.tryRead()
		if ok || err != nil {
			return d, err
		}
		b.readWaiter.wait(deadline)
	}
}

// close discards the queue, and reports whether it was open.
func (b *receiveQueue) close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.closed
	b.closed, b.ring, b.oldest, b.queued, b.shares = true, nil, 0, 0, clientShares{}
	b.ready.mark(ReadReady | WriteReady)
	b.ready = nil
	b.readWaiter.wake()
	return !was
}

// isClosed reports whether the socket is closed.
func (b *receiveQueue) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

func (b *receiveQueue) setDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return net.ErrClosed
	}
	b.readWaiter.deadline = t
	b.readWaiter.wake()
	return nil
}

// usage returns how many datagrams are queued, their charged bytes, and how many were dropped.
func (b *receiveQueue) usage() (waiting, bytes int, dropped uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queued, b.shares.used, b.dropped
}
