package tcpip

import (
	"sync"

	"weir/tcpip/tcp"
)

// wakeQueue has the connections that their reader must run although no segment has arrived: another
// goroutine has called Post, Send or Close of their sessions.
type wakeQueue struct {
	mu    sync.Mutex
	conns []*Conn
}

// isEmpty reports whether the queue is empty.
func (p *wakeQueue) isEmpty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) == 0
}

func (p *wakeQueue) takeAll() []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.conns
	p.conns = nil
	for _, c := range all {
		c.wakeQueued = false
	}
	return all
}

// queueConn has the reader run c. Any goroutine may call it.
func (l *reader) queueConn(c *Conn) {
	l.wakeQueue.mu.Lock()
	if !c.wakeQueued {
		c.wakeQueued = true
		l.wakeQueue.conns = append(l.wakeQueue.conns, c)
	}
	l.wakeQueue.mu.Unlock()
	l.wakeIfAsleep()
}

// wakeIfAsleep wakes the reader if it sleeps, so that it computes its timeout again.
func (l *reader) wakeIfAsleep() {
	if l.asleep.Load() {
		l.queue.Wake()
	}
}

// runQueued runs the queued connections. If a session ends the goroutine, the next reader goes on
// with the rest.
func (l *reader) runQueued(now tcp.Time) {
	if len(l.dequeued) == 0 {
		l.dequeued = l.wakeQueue.takeAll()
	} else {
		l.dequeued = append(l.dequeued, l.wakeQueue.takeAll()...)
	}
	for len(l.dequeued) > 0 {
		c := l.dequeued[0]
		l.dequeued = l.dequeued[1:]
		l.wokeApp = c.answer(now, true) || l.wokeApp
	}
	l.dequeued = nil
}
