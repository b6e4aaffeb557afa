package tcpip

import (
	"sync"
	"sync/atomic"

	"weir/tcpip/tcp"
	"weir/wire"
)

// backlog is where acknowledgments wait for a Write that holds their connection's lock: it sends for a while, up to a window, and a reader that waited for it would go to
// sleep and have to be woken each time. The Write takes them in before it lets go of the lock, as in Linux who owns a socket does. Segments that carry something wait for the
// lock: their bytes are the link's.
type backlog struct {
	writing atomic.Bool // changes under mu

	mu   sync.Mutex
	acks *[backlogMost]tcp.Segment // nil when there are none
	n    int
	due  bool // the connection is to answer
}

const (
	backlogMost   = 64
	backlogRounds = 4 // times that a Write looks before it lets others have the lock
)

var backlogs = sync.Pool{New: func() any { return new([backlogMost]tcp.Segment) }}

// begin has acknowledgments wait here. The caller holds the connection's lock, and calls next until it gives nothing.
func (b *backlog) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writing.Store(true)
}

// leave leaves a segment to the Write that is under way, if there is one and it takes it.
func (b *backlog) leave(seg *tcp.Segment) bool {
	if !b.writing.Load() || len(seg.Payload) > 0 || seg.Flags&^(wire.PSH|wire.ECE|wire.CWR) != wire.ACK {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.writing.Load() || b.n == backlogMost {
		return false
	}
	if b.acks == nil {
		b.acks = backlogs.Get().(*[backlogMost]tcp.Segment)
	}
	b.acks[b.n] = *seg
	b.n++
	return true
}

// excuse has the Write that is under way, if there is one, answer for the reader.
func (b *backlog) excuse() bool {
	if !b.writing.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.due = b.due || b.writing.Load()
	return b.writing.Load()
}

// next gives what has come to arrive, in its order, and says whether the connection is to answer. When there is nothing, or it is the last time, nothing comes any more.
func (b *backlog) next(last bool, arrive func(*tcp.Segment)) bool {
	b.mu.Lock()
	acks, n, due := b.acks, b.n, b.due
	b.acks, b.n, b.due = nil, 0, false
	if last || n == 0 && !due {
		b.writing.Store(false)
	}
	b.mu.Unlock()
	if acks != nil {
		for i := range n {
			arrive(&acks[i])
		}
		backlogs.Put(acks)
	}
	return n > 0 || due
}

// catchUp takes in what was left to this Write. The caller holds mu.
func (c *Conn) catchUp() {
	for round := 1; ; round++ {
		now := c.s.now()
		if !c.backlog.next(round >= backlogRounds, func(seg *tcp.Segment) { c.tcp.Arrive(now, seg) }) {
			return
		}
		c.flush(now)
		if round >= backlogRounds {
			return
		}
	}
}
