package tcpip

import (
	"sync"
	"sync/atomic"
	"time"

	"weir/tcpip/tcp"
)

// timers are a lane's: a heap of connections by when they are next due, at the latest. A connection
// whose deadline has moved on stays where it is, and is put right when it comes up: most deadlines
// move on with every segment.
type timers struct {
	mu    sync.Mutex
	heap  []*Conn
	sleep atomic.Int64 // until when the reader sleeps, at most
}

const (
	nap = 100 * time.Millisecond // the longest sleep while anything is due at all
	// how late a timer may be that somebody else than the reader has set
	trifle  = 2 * time.Millisecond
	forever = 1 << 62
)

// wait is how long the reader may sleep; below zero: for ever.
func (t *timers) wait(now tcp.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heap) == 0 {
		t.sleep.Store(forever)
		return -1
	}
	until := min(t.heap[0].timerAt, now.Add(nap))
	t.sleep.Store(int64(until))
	return max(0, until.Sub(now))
}

// set has c come up at a time, or before. It says whether the reader has to be woken for that.
func (t *timers) set(c *Conn, at tcp.Time) bool {
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
	return int64(at.Add(trifle)) < t.sleep.Load()
}

// due takes out the first that is due.
func (t *timers) due(now tcp.Time) *Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heap) == 0 || t.heap[0].timerAt > now {
		return nil
	}
	c := t.heap[0]
	t.remove(0)
	return c
}

func (t *timers) unset(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.timerIndex >= 0 {
		t.remove(c.timerIndex)
	}
}

func (t *timers) remove(i int) {
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

func (t *timers) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if t.heap[p].timerAt <= t.heap[i].timerAt {
			return
		}
		t.swap(i, p)
		i = p
	}
}

func (t *timers) down(i int) {
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

func (t *timers) swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].timerIndex, t.heap[j].timerIndex = i, j
}
