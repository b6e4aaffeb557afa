package flow

import "sync/atomic"

// stageCounts and edgeCounts are what one owner counts of a stage and of an edge. Each fills a cache line.
type (
	stageCounts [8]uint64
	edgeCounts  [8]uint64
)

// The places of a stage's and of an edge's counts.
const (
	calls   = iota // of Do
	items          // given to Do
	left           // sent to a port without an edge
	failed         // lost to a panic
	sampled        // items whose service was timed
	nanos          // that they took

	sent    = 0 // items that the edge took
	taken   = 1 // of those, items whose batch the receiver is done with
	dropped = 2
	refused = 3
)

// lane holds the counters of one owner. Only the owner touches counts; anybody reads shown.
type lane struct {
	counts [][8]uint64 // stages, then edges; those that the owner never meets stay zero
	shown  [][8]atomic.Uint64
}

func newLane(stages, edges int) *lane {
	return &lane{counts: make([][8]uint64, stages+edges), shown: make([][8]atomic.Uint64, stages+edges)}
}

// show copies what has changed. Only the owner may call it, and only between batches: what a stage has sent
// is then shown no later than that it is done with what it took, on which the stop relies.
func (l *lane) show(rows []int) {
	for _, i := range rows {
		for k := range l.counts[i] {
			if v := l.counts[i][k]; l.shown[i][k].Load() != v && k != taken {
				l.shown[i][k].Store(v)
			}
		}
	}
	for _, i := range rows {
		l.shown[i][taken].Store(l.counts[i][taken])
	}
}

func (l *lane) stage(i int) *stageCounts { return (*stageCounts)(&l.counts[i]) }

func (l *lane) edge(stages, i int) *edgeCounts { return (*edgeCounts)(&l.counts[stages+i]) }

// newLane gives a new owner its counters. The caller holds the lock.
func (n *Net[T]) newLane() *lane {
	l := newLane(len(n.stages), len(n.edges))
	n.lanes = append(n.lanes, l)
	return l
}
