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

// StatusGone is the status of an exchange whose client has gone before there was a response: nobody
// receives it, but logs and metrics show it.
const StatusGone = 499

// line is the admission queue of a stage that blocks: of the exchanges that come at once Width are
// at work, Queue wait, and the rest is refused with 503.
//
// One client is at work in at most half of the width, so that requests that take long, such as
// uploads at 500 B/s, leave room for other clients. Loopback, Unix sockets, and a trusted front that
// does not name its client have no such limit.
//
// Waiters take turns by client, so that the many requests of one client do not delay the others.
// When the line is full, the last of the client with the most in it makes room for a client that
// has fewer.
type line struct {
	width, room int
	share       int // exchanges of one client that may be at work at once: half the width, rounded up
	// by where from, nil being the entry; not changed once the net runs
	ways map[*stage]*arrival

	mu      sync.Mutex // guards what follows
	working int
	// exchanges at work of each client that is limited to a share; no entry is 0
	workingOf map[netip.Prefix]int
	waiting   int
	parties   map[netip.Prefix]*party // those with a waiter
	turns     []*party                // the same; the first has the next turn
}

// party is a client's exchanges that wait, the first that came first; at least one.
type party struct {
	client  netip.Prefix
	waiters []*waiter
}

// waiter is an exchange that waits.
type waiter struct {
	of *party
	// the client whose share it counts against when it works; the zero prefix: there is no limit
	limited netip.Prefix
	turn    chan error // to the exchange, one value: nil when it may work; capacity 1, never closed
}

// arrival counts what comes to a line from one stage, as flow counts it of an edge that is a queue.
type arrival struct{ inside, refused atomic.Int64 }

// newLine makes a line that is not open yet.
func newLine(width int) *line {
	return &line{width: width, share: (width + 1) / 2, ways: map[*stage]*arrival{},
		workingOf: map[netip.Prefix]int{}, parties: map[netip.Prefix]*party{}}
}

// open says how many may wait.
func (l *line) open(room int) { l.room = room }

// maxWorkers is the largest width that package flow takes.
const maxWorkers = 1 << 16

// workers is how many goroutines a stage with this line has by Network: one for each exchange at
// work, one for each that waits, and one by which an exchange is refused. With maxWorkers of them,
// the others wait in the stage's queue.
func (l *line) workers() int { return min(l.width+l.room+1, maxWorkers) }

// call calls do when the exchange's turn has come; the error says why it did not come. Who has gone
// leaves the line; who need not wait is not asked.
func (l *line) call(c *Conn, do func(*Conn)) error {
	from := l.ways[c.via]
	from.inside.Add(1)
	defer from.inside.Add(-1)
	limited := limitedClient(c)
	if err := l.enter(c, limited); err != nil {
		if err == flow.ErrFull {
			from.refused.Add(1)
		}
		return err
	}
	defer l.leave(limited)
	do(c)
	return nil
}

// limitedClient is the client whose share of a line an exchange counts against; the zero prefix
// means that it may take the whole width.
func limitedClient(c *Conn) netip.Prefix {
	limited := client.Limited(c.RemoteAddr())
	if limited.IsValid() && client.Peer(c.Context()) == c.RemoteAddr() {
		return netip.Prefix{} // a trusted front that does not name its client
	}
	return limited
}

// enter returns when the exchange may work, or will not.
func (l *line) enter(c *Conn, limited netip.Prefix) error {
	l.mu.Lock()
	if l.mayWorkLocked(limited) {
		l.startLocked(limited)
		l.mu.Unlock()
		return nil
	}
	w := l.join(client.Network(c.RemoteAddr()), limited)
	l.mu.Unlock()
	if w == nil {
		return flow.ErrFull
	}
	gone := c.Context()
	select {
	case err := <-w.turn:
		return err
	case <-gone.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case err := <-w.turn: // in the same moment
		return err
	default:
	}
	l.remove(w)
	return context.Cause(gone)
}

// mayWorkLocked reports whether one more exchange of a client may work.
func (l *line) mayWorkLocked(limited netip.Prefix) bool {
	return l.working < l.width && (!limited.IsValid() || l.workingOf[limited] < l.share)
}

// startLocked counts an exchange that begins to work.
func (l *line) startLocked(limited netip.Prefix) {
	l.working++
	if limited.IsValid() {
		l.workingOf[limited]++
	}
}

// join has one more of a client wait: nil when there is no room for it. The caller holds mu.
func (l *line) join(who, limited netip.Prefix) *waiter {
	p := l.parties[who]
	if l.waiting >= l.room && !l.makeRoom(p) {
		return nil
	}
	if p == nil {
		p = &party{client: who}
		l.parties[who] = p
		l.turns = append(l.turns, p)
	}
	w := &waiter{p, limited, make(chan error, 1)}
	p.waiters = append(p.waiters, w)
	l.waiting++
	return w
}

// makeRoom takes the last waiter of the largest party out of the line, if that party is larger than
// p would be with one waiter more. A nil p is an empty party. The caller holds mu.
func (l *line) makeRoom(p *party) bool {
	least := 1
	if p != nil {
		least += len(p.waiters)
	}
	var largest *party
	for _, other := range l.turns {
		if n := len(other.waiters); n > least && (largest == nil || n > len(largest.waiters)) {
			largest = other
		}
	}
	if largest == nil {
		return false
	}
	last := largest.waiters[len(largest.waiters)-1]
	l.remove(last)
	last.turn <- flow.ErrFull
	return true
}

// remove takes a waiter out of the line. The caller holds mu.
func (l *line) remove(w *waiter) {
	p := w.of
	i := slices.Index(p.waiters, w)
	p.waiters = slices.Delete(p.waiters, i, i+1)
	l.waiting--
	if len(p.waiters) == 0 {
		delete(l.parties, p.client)
		i := slices.Index(l.turns, p)
		l.turns = slices.Delete(l.turns, i, i+1)
	}
}

// leave ends what enter began, and starts the first waiter of the next client in turn that has not
// its whole share at work. That client's next turn comes after the others'.
func (l *line) leave(limited netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working--
	if limited.IsValid() {
		if l.workingOf[limited]--; l.workingOf[limited] == 0 {
			delete(l.workingOf, limited)
		}
	}
	for i, p := range l.turns {
		w := p.waiters[0]
		if !l.mayWorkLocked(w.limited) {
			continue
		}
		l.turns = append(slices.Delete(l.turns, i, i+1), p)
		l.remove(w)
		l.startLocked(w.limited)
		w.turn <- nil
		return
	}
}

// show adds to a topology what the line knows of the stage of this name: for flow, to be called is
// to be done, refused or not.
func (l *line) show(t *flow.Topology, name string) {
	at := slices.IndexFunc(t.Stages, func(s flow.StageStats) bool { return s.Name == name })
	s := &t.Stages[at]
	s.Width = l.width
	for from, count := range l.ways {
		before := flow.Entry
		if from != nil {
			before = from.Name
		}
		i := slices.IndexFunc(t.Edges, func(e flow.EdgeStats) bool { return e.From == before && e.To == name })
		e := &t.Edges[i]
		refused := uint64(count.refused.Load())
		e.Depth = uint64(count.inside.Load())
		e.Refused += refused
		e.Items -= min(e.Items, refused)
		s.Items -= min(s.Items, refused)
	}
}
