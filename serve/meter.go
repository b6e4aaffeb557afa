package serve

import (
	"sync"
	"sync/atomic"
)

// Meter counts the events of a run. One meter may count several runs. It may be read at any time.
type Meter struct {
	mu      sync.Mutex
	shards  map[*counterShard]struct{}
	retired Snapshot // the sum of the shards whose owner has ended
}

// Snapshot is the sum of all counters at one moment.
type Snapshot struct {
	Accepted        int64 // connections; those of Prefork are counted in the child processes
	Open            int64 // connections that are open now
	Reads           int64 // reads that returned bytes
	ReadBytes       int64
	Writes          int64 // writes of which the kernel took some bytes, those of Conn.Send included
	WrittenBytes    int64
	Wakes           int64 // calls of Session.Wake
	LoopTurns       int64 // iterations of event loops (returns from the wait)
	SendsRefused    int64 // calls of Conn.Send that returned false
	Panics          int64 // sessions and handlers that panicked
	AcceptPauses    int64 // times that accepting paused for want of descriptors or child processes
	ChildrenStarted int64 // child processes started
}

// ownedCounter is written by one goroutine, so that counting needs no locked instruction there.
type ownedCounter struct{ v atomic.Int64 }

func (c *ownedCounter) add(n int64) { c.v.Store(c.v.Load() + n) }

// counterShard holds the counters of one owner goroutine. The owner alone writes the first group;
// any goroutine may add to the last group.
type counterShard struct {
	accepted, closed, reads, readBytes, wakes, loopTurns, panics, acceptPauses, childrenStarted ownedCounter

	writes, writtenBytes, sendsRefused atomic.Int64
}

// newShard returns the counters of a new owner.
func (m *Meter) newShard() *counterShard {
	l := new(counterShard)
	m.mu.Lock()
	if m.shards == nil {
		m.shards = make(map[*counterShard]struct{})
	}
	m.shards[l] = struct{}{}
	m.mu.Unlock()
	return l
}

// retire adds the counters of an owner that has ended to the sum.
func (m *Meter) retire(l *counterShard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retired.add(l)
	delete(m.shards, l)
}

// Snapshot sums all counters.
func (m *Meter) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.retired
	for l := range m.shards {
		s.add(l)
	}
	return s
}

func (s *Snapshot) add(l *counterShard) {
	s.Accepted += l.accepted.v.Load()
	s.Open += l.accepted.v.Load() - l.closed.v.Load()
	s.Reads += l.reads.v.Load()
	s.ReadBytes += l.readBytes.v.Load()
	s.Writes += l.writes.Load()
	s.WrittenBytes += l.writtenBytes.Load()
	s.Wakes += l.wakes.v.Load()
	s.LoopTurns += l.loopTurns.v.Load()
	s.SendsRefused += l.sendsRefused.Load()
	s.Panics += l.panics.v.Load()
	s.AcceptPauses += l.acceptPauses.v.Load()
	s.ChildrenStarted += l.childrenStarted.v.Load()
}
