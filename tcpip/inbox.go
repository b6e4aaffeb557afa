package tcpip

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// datagram is one that came.
type datagram struct {
	from    netip.AddrPort
	to      netip.Addr // of UDP
	payload []byte
}

// cost is what it counts for: its bytes, and what it takes beside them.
func (d *datagram) cost() int { return len(d.payload) + 64 }

// inbox is where a socket's datagrams wait, the oldest first.
type inbox struct {
	reader waiter

	mu      sync.Mutex
	queue   []datagram // a ring: its length is a power of two, or zero
	head    int        // where the oldest is
	waiting int        // datagrams in it
	shares  shares     // of the bytes, by sender
	dropped uint64     // datagrams that found no room
	err     error      // to be told once, by the next read
	closed  bool
}

// inboxMost is how many bytes of one sender may wait, inboxesMost how many of all senders together.
// What comes then is dropped.
const (
	inboxMost   = 256 << 10
	inboxesMost = 2 * inboxMost
)

// put has a datagram wait, and says whether there was room.
func (b *inbox) put(d datagram) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shares.most = inboxesMost
	if b.closed || !b.shares.take(client(d.from.Addr()), d.cost()) {
		b.dropped++
		return false
	}
	if b.waiting == len(b.queue) {
		b.grow()
	}
	b.queue[(b.head+b.waiting)&(len(b.queue)-1)] = d
	b.waiting++
	b.reader.wake()
	return true
}

// grow doubles the ring.
func (b *inbox) grow() {
	larger := make([]datagram, max(4, 2*len(b.queue)))
	n := copy(larger, b.queue[b.head:])
	copy(larger[n:], b.queue[:b.head])
	b.queue, b.head = larger, 0
}

// idleRing is how many datagrams an empty inbox keeps room for.
const idleRing = 64

// next takes the oldest out.
func (b *inbox) next() datagram {
	d := b.queue[b.head]
	b.queue[b.head] = datagram{}
	b.head = (b.head + 1) & (len(b.queue) - 1)
	b.waiting--
	b.shares.give(client(d.from.Addr()), d.cost())
	if b.waiting == 0 && len(b.queue) > idleRing {
		b.queue, b.head = nil, 0
	}
	return d
}

// fail has the next read, if nothing waits, return an error.
func (b *inbox) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
	b.reader.wake()
}

// failure is what a call that sends is told: that the socket is closed, or, once, what the network
// said of what was sent before.
func (b *inbox) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return net.ErrClosed
	}
	err := b.err
	b.err = nil
	return err
}

func (b *inbox) take() (d datagram, deadline time.Time, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	deadline = b.reader.deadline
	if err = b.reader.refusal(b.closed); err != nil {
		return d, deadline, false, err
	}
	if b.waiting > 0 {
		return b.next(), deadline, true, nil
	}
	err, b.err = b.err, nil
	return d, deadline, false, err
}

// read waits for a datagram.
func (b *inbox) read() (datagram, error) {
	b.reader.busy.Lock()
	defer b.reader.busy.Unlock()
	for {
		d, deadline, ok, err := b.take()
		if ok || err != nil {
			return d, err
		}
		b.reader.wait(deadline)
	}
}

// close drops what waits, and says whether it was open.
func (b *inbox) close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.closed
	b.closed, b.queue, b.head, b.waiting, b.shares = true, nil, 0, 0, shares{}
	b.reader.wake()
	return !was
}

func (b *inbox) setDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return net.ErrClosed
	}
	b.reader.deadline = t
	b.reader.wake()
	return nil
}

// fill is how many datagrams wait, what they count for, and how many found no room.
func (b *inbox) fill() (waiting, bytes int, dropped uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting, b.shares.held, b.dropped
}
