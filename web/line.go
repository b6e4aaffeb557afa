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

// line is, by Chain, who is at a stage that blocks: of what comes at once Width are at work, Queue
// wait, and the rest is refused. By Network the stage's queue is that line.
//
// Waiters take turns by client, so that the many requests of one client do not delay the others.
// When the line is full, the last of the client with the most in it makes room for a client that
// has fewer.
type line struct {
	width, room int
	// by where from, nil being the entry; not changed once the net runs
	ways map[*stage]*arrival

	mu      sync.Mutex // guards what follows
	working int
	waiting int
	parties map[netip.Prefix]*party // those with a waiter
	turns   []*party                // the same; the first has the next turn
}

// party is a client's exchanges that wait, the first that came first; at least one.
type party struct {
	client  netip.Prefix
	waiters []*waiter
}

// waiter is an exchange that waits.
type waiter struct {
	of   *party
	turn chan error // to the exchange, one value: nil when it may work; capacity 1, never closed
}

// arrival counts what comes to a line from one stage, as flow counts it of an edge that is a queue.
type arrival struct{ inside, refused atomic.Int64 }

// newLine makes a line that is not open yet.
func newLine(width int) *line {
	return &line{width: width, ways: map[*stage]*arrival{}, parties: map[netip.Prefix]*party{}}
}

// open says how many may wait.
func (l *line) open(room int) { l.room = room }

// call calls do when the exchange's turn has come; the error says why it did not come. Who has gone
// leaves the line; who need not wait is not asked.
func (l *line) call(c *Conn, do func(*Conn)) error {
	from := l.ways[c.via]
	from.inside.Add(1)
	defer from.inside.Add(-1)
	if err := l.enter(c); err != nil {
		if err == flow.ErrFull {
			from.refused.Add(1)
		}
		return err
	}
	defer l.leave()
	do(c)
	return nil
}

// enter returns when the exchange may work, or will not.
func (l *line) enter(c *Conn) error {
	l.mu.Lock()
	if l.working < l.width {
		l.working++
		l.mu.Unlock()
		return nil
	}
	w := l.join(client.Network(c.RemoteAddr()))
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

// join has one more of a client wait: nil when there is no room for it. The caller holds mu.
func (l *line) join(who netip.Prefix) *waiter {
	p := l.parties[who]
	if l.waiting >= l.room && !l.makeRoom(p) {
		return nil
	}
	if p == nil {
		p = &party{client: who}
		l.parties[who] = p
		l.turns = append(l.turns, p)
	}
	w := &waiter{p, make(chan error, 1)}
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

// leave ends what enter began, and wakes the first waiter of the party whose turn it is. That
// party's next turn comes after the others'.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == 0 {
		l.working--
		return
	}
	p := l.turns[0]
	w := p.waiters[0]
	l.turns = append(l.turns[1:], p)
	l.remove(w)
	w.turn <- nil
}

// show makes a topology one of a queue before the stage of this name: for flow, to be called is to
// be done, refused or not.
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
		e.Depth, e.Refused = uint64(count.inside.Load()), uint64(count.refused.Load())
		e.Items -= min(e.Items, e.Refused)
		s.Items -= min(s.Items, e.Refused)
	}
}
