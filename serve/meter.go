package serve

import (
	"sync"
	"sync/atomic"
)

// Meter counts what passes through a run. One meter may count several runs. It may be read at any
// time.
type Meter struct {
	mu    sync.Mutex
	lanes map[*lane]struct{}
	done  Snapshot // of lanes that have gone
}

// Snapshot is what was counted up to now, and how much is open.
type Snapshot struct {
	Accepted     int64 // connections; those of Prefork are counted by the children
	Open         int64 // connections now
	Reads        int64 // reads that gave bytes
	ReadBytes    int64
	Writes       int64 // writes of which the kernel took something, those of Conn.Send included
	WrittenBytes int64
	Wakes        int64 // calls of Session.Wake
	Turns        int64 // of event loops, that is, returns from waiting
	Refused      int64 // calls of Conn.Send that took nothing
	Panics       int64 // sessions and handlers that panicked
	Pauses       int64 // times that accepting paused for want of file descriptors or children
	Children     int64 // processes started
}

// count is written by one owner, so that counting needs no locked instruction on the owner's side.
type count struct{ v atomic.Int64 }

func (c *count) add(n int64) { c.v.Store(c.v.Load() + n) }

// lane holds the counters of one owner. The last group may be counted by anybody.
type lane struct {
	accepted, closed, reads, readBytes, wakes, turns, panics, pauses, children count

	writes, writtenBytes, refused atomic.Int64
}

// lane gives a new owner its counters.
func (m *Meter) lane() *lane {
	l := new(lane)
	m.mu.Lock()
	if m.lanes == nil {
		m.lanes = make(map[*lane]struct{})
	}
	m.lanes[l] = struct{}{}
	m.mu.Unlock()
	return l
}

// retire adds the counters of an owner that has gone to the sum.
func (m *Meter) retire(l *lane) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done.add(l)
	delete(m.lanes, l)
}

// Snapshot reads all counters.
func (m *Meter) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.done
	for l := range m.lanes {
		s.add(l)
	}
	return s
}

func (s *Snapshot) add(l *lane) {
	s.Accepted += l.accepted.v.Load()
	s.Open += l.accepted.v.Load() - l.closed.v.Load()
	s.Reads += l.reads.v.Load()
	s.ReadBytes += l.readBytes.v.Load()
	s.Writes += l.writes.Load()
	s.WrittenBytes += l.writtenBytes.Load()
	s.Wakes += l.wakes.v.Load()
	s.Turns += l.turns.v.Load()
	s.Refused += l.refused.Load()
	s.Panics += l.panics.v.Load()
	s.Pauses += l.pauses.v.Load()
	s.Children += l.children.v.Load()
}
