package flow

import "sync"

// counters are what one owner counts for a stage or an edge. They fill a cache line that no other
// owner writes.
type counters [8]uint64

// The indexes into a stage's counters, and into an edge's. All but the calls and the nanoseconds
// count items.
const (
	stageCalls   = iota // calls of Do
	stageLeft           // sent to a port without an edge
	stageFailed         // lost to a panic
	stageSampled        // whose service time was measured
	stageNanos          // their service time

	edgeSent    = 0 // taken by the edge
	edgeHandled = 1 // of those, handled by the receiver (Network)
	// Not taken by the edge, at edgeLost plus its Policy. For Wait, items after a stop's deadline.
	edgeLost = 2
)

// counterShard holds the counters of one owner. Only the owner writes them, without a lock; other
// goroutines read what it has published.
type counterShard struct {
	rows     []int // the net's stage or edge, as a row, that counters[i] belongs to
	counters []*counters

	mu        sync.Mutex // guards published
	published []counters // the counters when the owner last published them
}

// add returns new counters for a row.
func (l *counterShard) add(row int) *counters {
	c := new(counters)
	l.rows, l.counters, l.published = append(l.rows, row), append(l.counters, c), append(l.published, *c)
	return c
}

// publish copies the counters to where other goroutines read them. The owner calls it between two
// batches. So the items that a batch led to are published together with the batch's completion, on
// which the stop relies.
func (l *counterShard) publish() {
	l.mu.Lock()
	for i, c := range l.counters {
		l.published[i] = *c
	}
	l.mu.Unlock()
}

// totalsLocked returns what all owners have published, and the counters of idle owners, by row. The
// caller holds the net's lock.
func (n *Net[T]) totalsLocked() []counters {
	for _, o := range n.idleOwners {
		o.shard.publish()
	}
	total := make([]counters, len(n.nodes)+len(n.edges))
	for _, o := range n.owners {
		o.shard.mu.Lock()
		for i, row := range o.shard.rows {
			for k, v := range o.shard.published[i] {
				total[row][k] += v
			}
		}
		o.shard.mu.Unlock()
	}
	if n.way == Chain { // a sent item is handled when the call returns
		for _, e := range n.edges {
			total[e.row][edgeHandled] = total[e.row][edgeSent]
		}
	}
	return total
}
