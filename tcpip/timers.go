package tcpip

import (
	"sync"
	"sync/atomic"
	"time"

	"weir/tcpip/tcp"
)

// timerHeap is the timers of a reader: a heap of connections by their next timer. A connection
// whose timer moves later keeps its place and is reinserted when it surfaces, because most timers
// move later with every segment.
type timerHeap struct {
	mu         sync.Mutex
	heap       []*Conn
	sleepUntil atomic.Int64 // when the reader wakes up at the latest
}

const (
	maxSleep = 100 * time.Millisecond // longest sleep while any timer is set
	// how late a timer may fire that was set while the reader slept
	timerSlack = 2 * time.Millisecond
	forever    = 1 << 62
)

// sleepTime returns how long the reader may sleep; negative: without limit.
func (t *timerHeap) sleepTime(now tcp.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heap) == 0 {
		t.sleepUntil.Store(forever)
		return -1
	}
	until := min(t.heap[0].timerAt, now.Add(maxSleep))
	t.sleepUntil.Store(int64(until))
	return max(0, until.Sub(now))
}

// schedule has c surface at a time, or before. It reports whether the reader must be woken for it.
func (t *timerHeap) schedule(c *Conn, at tcp.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.timerIndex < 0 {
		c.timerIndex = len(t.heap)
		c.timerAt = at
		t.heap = append(t.heap, c)
		t.up(c.timerIndex)
	} else if at < c.timerAt {
		c.timerAt = at
		t.up(c.timerIndex)
	}
	return int64(at.Add(timerSlack)) < t.sleepUntil.Load()
}

// popDue removes and returns the first connection whose timer is due; nil: none.
func (t *timerHeap) popDue(now tcp.Time) *Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heap) == 0 || t.heap[0].timerAt > now {
		return nil
	}
	c := t.heap[0]
	t.remove(0)
	return c
}

func (t *timerHeap) cancel(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.timerIndex >= 0 {
		t.remove(c.timerIndex)
	}
}

func (t *timerHeap) remove(i int) {
	last := len(t.heap) - 1
	c := t.heap[i]
	t.heap[i] = t.heap[last]
	t.heap[i].timerIndex = i
	t.heap[last] = nil
	t.heap = t.heap[:last]
	c.timerIndex = -1
	if i < last {
		t.down(i)
		t.up(i)
	}
}

func (t *timerHeap) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if t.heap[p].timerAt <= t.heap[i].timerAt {
			return
		}
		t.swap(i, p)
		i = p
	}
}

func (t *timerHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(t.heap) {
			return
		}
		if c+1 < len(t.heap) && t.heap[c+1].timerAt < t.heap[c].timerAt {
			c++
		}
		if t.heap[i].timerAt <= t.heap[c].timerAt {
			return
		}
		t.swap(i, c)
		i = c
	}
}

func (t *timerHeap) swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].timerIndex, t.heap[j].timerIndex = i, j
}
