package chat

import (
	"sync"

	"weir/chat/environment"
	"weir/serve"
)

// fanouts implements environment.Fanout for the connections of clients. It has a serve.Fanout for
// each commit worker that has sent something.
type fanouts struct {
	mu   sync.Mutex
	free []*clientFanout // those that are not in use
}

// clientFanout is a fan-out to clients, which one worker uses at a time.
type clientFanout struct {
	serve.Fanout
	batch []serve.Outgoing
}

// SendAll implements environment.Fanout.
func (f *fanouts) SendAll(texts []environment.Outgoing) {
	c := f.take()
	for _, o := range texts {
		if client, ok := o.Conn.(clientConn); ok {
			c.batch = append(c.batch, serve.Outgoing{Conn: client.Conn, Text: o.Text})
		} else {
			*o.Taken = o.Conn.Send(o.Text)
		}
	}
	c.Send(c.batch)
	sent := c.batch
	for _, o := range texts {
		if _, ok := o.Conn.(clientConn); ok {
			*o.Taken, sent = sent[0].Taken, sent[1:]
		}
	}
	clear(c.batch)
	c.batch = c.batch[:0]
	f.put(c)
}

func (f *fanouts) take() *clientFanout {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.free) - 1
	if last < 0 {
		return new(clientFanout)
	}
	c := f.free[last]
	f.free = f.free[:last]
	return c
}

func (f *fanouts) put(c *clientFanout) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = append(f.free, c)
}

// close closes the fan-outs. A worker that the disk has held up too long may still use one.
func (f *fanouts) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.free {
		c.Close()
	}
}
