package flow

import "sync"

// counts are what one owner counts of a stage or of an edge. They fill a cache line of their own,
// which no other owner writes.
type counts [8]uint64

// The places of a stage's counts, and of an edge's. All but the calls and the nanoseconds are
// items.
const (
	calls   = iota // of Do
	left           // sent to a port without an edge
	failed         // lost to a panic
	sampled        // whose service was timed
	nanos          // that they took

	sent  = 0 // that the edge took
	taken = 1 // of those, that the receiver is done with (Network)
	// that it did not take, at lost plus its Policy; of Wait, those after a stop's deadline
	lost = 2
)

// lane holds the counts of one owner. Only the owner touches them, without a lock; others see what
// it shows.
type lane struct {
	rows   []int // of the net's stages and edges: which of them counts[i] is about
	counts []*counts

	mu    sync.Mutex // guards shown
	shown []counts   // what counts were when the owner last showed them
}

// add gives the owner counts for a row.
func (l *lane) add(row int) *counts {
	c := new(counts)
	l.rows, l.counts, l.shown = append(l.rows, row), append(l.counts, c), append(l.shown, *c)
	return c
}

// show copies the counts to where others look. It is the owner's to call, and between two batches:
// what a batch led to is then shown together with the batch's being done, on which the stop relies.
func (l *lane) show() {
	l.mu.Lock()
	for i, c := range l.counts {
		l.shown[i] = *c
	}
	l.mu.Unlock()
}

// total is what all owners have shown, and those at rest have counted, by row. The caller holds the
// net's lock.
func (n *Net[T]) total() []counts {
	for _, o := range n.rest {
		o.lane.show()
	}
	total := make([]counts, len(n.nodes)+len(n.edges))
	for _, o := range n.owners {
		o.lane.mu.Lock()
		for i, row := range o.lane.rows {
			for k, v := range o.lane.shown[i] {
				total[row][k] += v
			}
		}
		o.lane.mu.Unlock()
	}
	if n.way == Chain { // where to be sent is to be done with
		for _, e := range n.edges {
			total[e.row][taken] = total[e.row][sent]
		}
	}
	return total
}
