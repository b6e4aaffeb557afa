package web

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"weir/flow"
	"weir/web/internal/client"
)

// StatusClientClosedRequest is the status of an exchange whose client disconnected before there was
// a response (499, as nginx logs it). It is not sent, but logs and metrics show it.
const StatusClientClosedRequest = 499

// admissionQueue limits the exchanges at a stage that blocks: maxActive run, maxWaiting wait, and
// further ones are answered by 503.
//
// One client may run at most half of maxActive, so that slow requests, such as uploads at 500 B/s,
// leave room for other clients. Loopback, Unix sockets, and a trusted proxy that does not name its
// client have no such limit.
//
// Waiting exchanges are admitted in turn by client (round robin), so that many requests of one
// client do not delay others. When the queue is full, the last exchange of the client with the most
// waiting exchanges is evicted for a client that has fewer.
type admissionQueue struct {
	maxActive, maxWaiting int
	maxPerClient          int // exchanges of one client that may run: half of maxActive, rounded up
	// By the stage before; nil is the entry. Read-only once the net runs.
	arrivals map[*stage]*arrivalCount

	mu sync.Mutex // guards the fields below
	// exchanges that run
	active int
	// exchanges that run, by client with a share; no entry means 0
	activeOf map[netip.Prefix]int
	// exchanges that wait, over all clients
	waiting  int
	clients  map[netip.Prefix]*clientQueue // clients with waiting exchanges
	rotation []*clientQueue                // the same clients; the first is next
}

// clientQueue is the waiting exchanges of one client, oldest first. It has at least one.
type clientQueue struct {
	client  netip.Prefix
	waiters []*waiter
}

// waiter is an exchange that waits.
type waiter struct {
	queue *clientQueue
	// the client whose share counts; the zero prefix: no share
	limited netip.Prefix
	// One value for the exchange: nil when it may run, otherwise the reason. Capacity 1, never
	// closed.
	admitted chan error
}

// arrivalCount counts the exchanges that come from one stage, as flow counts them for an edge with
// a queue: those present now, and all that were rejected.
type arrivalCount struct{ present, refused atomic.Int64 }

// newAdmissionQueue returns a queue without places; setMaxWaiting sets their number.
func newAdmissionQueue(maxActive int) *admissionQueue {
	return &admissionQueue{maxActive: maxActive, maxPerClient: (maxActive + 1) / 2, arrivals: map[*stage]*arrivalCount{},
		activeOf: map[netip.Prefix]int{}, clients: map[netip.Prefix]*clientQueue{}}
}

// open says how many may wait.
func (l *admissionQueue) setMaxWaiting(maxWaiting int) { l.maxWaiting = maxWaiting }

// maxWorkers is the maximum width of a stage in package flow.
const maxWorkers = 1 << 16

// workers returns the number of goroutines of the stage with Network: one for each exchange that
// may run, one for each that may wait, and one to reject others. Above maxWorkers, exchanges wait
// in the stage's own queue.
func (l *admissionQueue) workers() int { return min(l.maxActive+l.maxWaiting+1, maxWorkers) }

// run calls do when the exchange is admitted, or returns why it was not. An exchange whose client
// disconnects leaves the queue; one that need not wait is admitted without a check for that.
func (l *admissionQueue) run(c *Conn, do func(*Conn)) error {
	from := l.arrivals[c.previousStage]
	limited := limitedClient(c)
	if err := l.acquire(c, limited, from); err != nil {
		if err == flow.ErrFull {
			from.refused.Add(1)
		}
		return err
	}
	defer from.present.Add(-1)
	defer l.release(limited)
	do(c)
	return nil
}

// limitedClient returns the client whose share of the queue an exchange counts against. The zero
// prefix has no share limit.
func limitedClient(c *Conn) netip.Prefix {
	limited := client.Limited(c.RemoteAddr())
	if limited.IsValid() && client.ProxyAddr(c.r.Context()) == c.RemoteAddr() {
		return netip.Prefix{} // a trusted proxy that does not name its client
	}
	return limited
}

// acquire waits until the exchange may run. It returns an error if it may not. It counts the
// exchange as present once it runs or has its place in the queue.
func (l *admissionQueue) acquire(c *Conn, limited netip.Prefix, from *arrivalCount) error {
	l.mu.Lock()
	if l.mayRunLocked(limited) {
		l.startLocked(limited)
		from.present.Add(1)
		l.mu.Unlock()
		return nil
	}
	w := l.enqueueLocked(client.Network(c.RemoteAddr()), limited)
	if w == nil {
		l.mu.Unlock()
		return flow.ErrFull
	}
	from.present.Add(1)
	l.mu.Unlock()
	err := l.await(c, w)
	if err != nil {
		from.present.Add(-1)
	}
	return err
}

// await waits until a waiting exchange may run, or its client disconnects.
func (l *admissionQueue) await(c *Conn, w *waiter) error {
	gone := c.r.Context()
	select {
	case err := <-w.admitted:
		return err
	case <-gone.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case err := <-w.admitted: // decided at the same moment
		return err
	default:
	}
	l.removeLocked(w)
	return context.Cause(gone)
}

// mayRunLocked reports whether one more exchange of a client may run. The caller holds mu.
func (l *admissionQueue) mayRunLocked(limited netip.Prefix) bool {
	return l.active < l.maxActive && (!limited.IsValid() || l.activeOf[limited] < l.maxPerClient)
}

// startLocked counts an exchange that starts to run. The caller holds mu.
func (l *admissionQueue) startLocked(limited netip.Prefix) {
	l.active++
	if limited.IsValid() {
		l.activeOf[limited]++
	}
}

// enqueueLocked adds a waiting exchange of a client. It returns nil if there is no room. The caller
// holds mu.
func (l *admissionQueue) enqueueLocked(who, limited netip.Prefix) *waiter {
	p := l.clients[who]
	if l.waiting >= l.maxWaiting && !l.evictLocked(p) {
		return nil
	}
	if p == nil {
		p = &clientQueue{client: who}
		l.clients[who] = p
		l.rotation = append(l.rotation, p)
	}
	w := &waiter{p, limited, make(chan error, 1)}
	p.waiters = append(p.waiters, w)
	l.waiting++
	return w
}

// evictLocked evicts the last exchange of the client with the most waiting exchanges, if p would
// still have fewer with one more. A nil p stands for a client without waiting exchanges. It reports
// whether an exchange was evicted. The caller holds mu.
func (l *admissionQueue) evictLocked(p *clientQueue) bool {
	least := 1
	if p != nil {
		least += len(p.waiters)
	}
	var largest *clientQueue
	for _, other := range l.rotation {
		if n := len(other.waiters); n > least && (largest == nil || n > len(largest.waiters)) {
			largest = other
		}
	}
	if largest == nil {
		return false
	}
	last := largest.waiters[len(largest.waiters)-1]
	l.removeLocked(last)
	last.admitted <- flow.ErrFull
	return true
}

// removeLocked removes a waiting exchange from the queue. The caller holds mu.
func (l *admissionQueue) removeLocked(w *waiter) {
	p := w.queue
	i := slices.Index(p.waiters, w)
	p.waiters = slices.Delete(p.waiters, i, i+1)
	l.waiting--
	if len(p.waiters) == 0 {
		delete(l.clients, p.client)
		i := slices.Index(l.rotation, p)
		l.rotation = slices.Delete(l.rotation, i, i+1)
	}
}

// release ends what acquire started. It admits the oldest exchange of the next client in the
// rotation whose share permits it, and moves that client to the back.
func (l *admissionQueue) release(limited netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	if limited.IsValid() {
		if l.activeOf[limited]--; l.activeOf[limited] == 0 {
			delete(l.activeOf, limited)
		}
	}
	for i, p := range l.rotation {
		w := p.waiters[0]
		if !l.mayRunLocked(w.limited) {
			continue
		}
		l.rotation = append(slices.Delete(l.rotation, i, i+1), p)
		l.removeLocked(w)
		l.startLocked(w.limited)
		w.admitted <- nil
		return
	}
}

// annotate shows the queue at the stage's edges in a topology. flow counts a call as completed even
// if the exchange was rejected, so annotate corrects that.
func (l *admissionQueue) annotate(t *flow.Topology, name string) {
	at := slices.IndexFunc(t.Stages, func(s flow.StageStats) bool { return s.Name == name })
	s := &t.Stages[at]
	s.Width = l.maxActive
	for from, count := range l.arrivals {
		before := flow.Entry
		if from != nil {
			before = from.Name
		}
		i := slices.IndexFunc(t.Edges, func(e flow.EdgeStats) bool { return e.From == before && e.To == name })
		e := &t.Edges[i]
		refused := uint64(count.refused.Load())
		e.Depth = uint64(count.present.Load())
		e.Refused += refused
		e.Items -= min(e.Items, refused)
		s.Items -= min(s.Items, refused)
	}
}
