package tcpip

import (
	"sync"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// pushBack has connections wait until a link's queue has room for their data. A link that never
// asks to wait has none.
type pushBack struct {
	queue link.Waiter // nil: the link does not ask

	mu    sync.Mutex
	conns []*Conn // that wait; WhenRoom was called if there are any
}

// newPushBack returns the push-back of a link's queue.
func newPushBack(q link.Queue) pushBack {
	w, _ := q.(link.Waiter)
	return pushBack{queue: w}
}

// isFull reports whether connections should wait.
func (p *pushBack) isFull() bool { return p.queue != nil && p.queue.Full() }

// awaitRoom has the reader run c when there is room.
func (l *reader) awaitRoom(c *Conn) {
	p := &l.pushBack
	p.mu.Lock()
	first := len(p.conns) == 0
	if !c.awaitsRoom {
		c.awaitsRoom = true
		p.conns = append(p.conns, c)
	}
	p.mu.Unlock()
	if first {
		p.queue.WhenRoom(l.runWaiting)
	}
}

// runWaiting has the reader run the connections that wait for room.
func (l *reader) runWaiting() {
	p := &l.pushBack
	p.mu.Lock()
	conns := p.conns
	p.conns = nil
	for _, c := range conns {
		c.awaitsRoom = false
	}
	p.mu.Unlock()
	for _, c := range conns {
		l.queueConn(c)
	}
}

// outputLocked sends what is due. Data wait while the link's queue is full. The caller holds mu.
func (c *Conn) outputLocked(now tcp.Time) {
	if c.reader.pushBack.queue == nil {
		c.tcp.Output(now, c.emitSegment)
		return
	}
	c.tcp.Resume()
	if c.reader.pushBack.isFull() {
		c.tcp.Hold()
	}
	c.tcp.Output(now, c.emitSegment)
	if c.tcp.HeldBack() {
		c.reader.awaitRoom(c)
	}
}
