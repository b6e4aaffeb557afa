package tcpip

import (
	"sync"

	"weir/tcpip/tcp"
)

// posts are connections that their lane is to see to, though nothing has come for them: somebody
// has word for their sessions.
type posts struct {
	mu  sync.Mutex
	all []*Conn
}

// empty says whether there are none.
func (p *posts) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all) == 0
}

func (p *posts) take() []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	for _, c := range all {
		c.posted = false
	}
	return all
}

// post has the lane see to c. Any goroutine.
func (l *lane) post(c *Conn) {
	l.posts.mu.Lock()
	if !c.posted {
		c.posted = true
		l.posts.all = append(l.posts.all, c)
	}
	l.posts.mu.Unlock()
	l.rouse()
}

// rouse has the reader look anew what it is to do, if it does not in any case.
func (l *lane) rouse() {
	if l.asleep.Load() {
		l.q.Wake()
	}
}

// attend sees to those that were posted. A session that ends the goroutine leaves the others of
// them to the next.
func (l *lane) attend(now tcp.Time) {
	if len(l.posted) == 0 {
		l.posted = l.posts.take()
	} else {
		l.posted = append(l.posted, l.posts.take()...)
	}
	for len(l.posted) > 0 {
		c := l.posted[0]
		l.posted = l.posted[1:]
		l.woke = c.answer(now, true) || l.woke
	}
	l.posted = nil
}
