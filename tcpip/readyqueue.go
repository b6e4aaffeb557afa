package tcpip

import (
	"context"
	"errors"
	"net"
	"sync"

	"weir/tcpip/tcp"
)

// ReadyQueue tells an event loop which of many connections, listeners and UDP sockets it can go on
// with, so that none needs a goroutine of its own. It is edge-triggered: something is ready once
// after each change, such as data that has arrived. The loop then calls TryRead, TryWrite or
// TryAccept until they return syscall.EAGAIN. Any goroutine may call its methods, and several may
// wait: each event goes to one of them.
//
// Beside it, Stack.Serve runs state machines in the goroutine that reads the link: it costs less,
// but a session may not wait for anything.
type ReadyQueue struct {
	mu sync.Mutex
	// sources with events, the oldest first. Each is there once
	ready  []*readySource
	closed bool

	// mark and Close -> the calls of Wait: check again; capacity 1, never closed
	signal chan struct{}
}

// Readiness is a set of what a source can do without waiting.
type Readiness uint8

const (
	ReadReady  Readiness = 1 << iota // TryRead, TryAccept: data, a connection, the end, an error
	WriteReady                       // TryWrite: room, an error
)

// ReadyEvent says that something has changed.
type ReadyEvent struct {
	Source Source
	Token  any // that of Add
	Ready  Readiness
}

// Source is what a ReadyQueue can watch: a *Conn, a *Listener or a *UDPConn.
type Source interface {
	setReady(*readySource) error // of a source that is open, and in no queue
	removeReady(*ReadyQueue)
}

// readySource is a source of a queue. Its fields are guarded by the queue's lock.
type readySource struct {
	queue  *ReadyQueue
	source Source
	token  any
	events Readiness // not returned by Wait yet; 0: it is not in queue.ready
}

// errQueued is the error of adding a source that a queue has.
var errQueued = errors.New("tcpip: the connection or socket is in a ReadyQueue already: remove it there first")

// NewReadyQueue returns an empty queue.
func NewReadyQueue() *ReadyQueue { return &ReadyQueue{signal: make(chan struct{}, 1)} }

// Add adds a source with a token for its events. Its first event comes at once, and says that it is
// ready for everything. It fails with net.ErrClosed if the source or the queue is closed, and if
// the source is in a queue or has a session. Closing a source, by any goroutine, removes it after a
// last event.
func (q *ReadyQueue) Add(s Source, token any) error {
	r := &readySource{queue: q, source: s, token: token}
	q.mu.Lock()
	closed := q.closed
	q.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	if err := s.setReady(r); err != nil {
		return err
	}
	r.mark(ReadReady | WriteReady)
	return nil
}

// Remove removes a source from the queue. A Wait that returns afterwards has no event of it. It
// does nothing to a source of another queue.
func (q *ReadyQueue) Remove(s Source) {
	s.removeReady(q)
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, r := range q.ready {
		if r.source == s {
			q.ready = append(q.ready[:i], q.ready[i+1:]...)
			return
		}
	}
}

// mark adds events of a source. A nil source ignores them.
func (r *readySource) mark(events Readiness) {
	if r == nil {
		return
	}
	q := r.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || events == 0 {
		return
	}
	if r.events == 0 {
		q.ready = append(q.ready, r)
	}
	r.events |= events
	q.wakeLocked()
}

// readinessOf returns what a connection can do after events.
func readinessOf(e tcp.Event) (r Readiness) {
	if e&(tcp.Readable|tcp.Ended) != 0 {
		r |= ReadReady
	}
	if e&(tcp.Writable|tcp.Connected|tcp.Ended) != 0 {
		r |= WriteReady
	}
	return r
}

// wakeLocked has a call of Wait check again. The caller holds mu.
func (q *ReadyQueue) wakeLocked() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// Wait fills events with sources that are ready, the one that has waited longest first, and returns
// how many there are, at least one. It waits until there are some, ctx ends, which is the error, or
// the queue is closed, which is net.ErrClosed.
func (q *ReadyQueue) Wait(ctx context.Context, events []ReadyEvent) (int, error) {
	for {
		if n, err := q.take(events); n > 0 || err != nil || len(events) == 0 {
			return n, err
		}
		select {
		case <-q.signal:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// take fills events without waiting.
func (q *ReadyQueue) take(events []ReadyEvent) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(events), len(q.ready))
	for i, r := range q.ready[:n] {
		events[i] = ReadyEvent{r.source, r.token, r.events}
		r.events = 0
	}
	left := copy(q.ready, q.ready[n:])
	clear(q.ready[left:])
	q.ready = q.ready[:left]
	if q.closed {
		q.wakeLocked() // for another call of Wait
		return n, net.ErrClosed
	}
	if left > 0 {
		q.wakeLocked() // for another call of Wait
	}
	return n, nil
}

// Close closes the queue: Wait returns net.ErrClosed. Its sources stay open.
func (q *ReadyQueue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return net.ErrClosed
	}
	q.closed, q.ready = true, nil
	q.wakeLocked()
	return nil
}
