// Package origin is the client side of HTTP/1.1 for a proxy: connections to one server, on which
// the goroutine that serves an exchange sends a request and reads the response by itself. A call
// that waits has a limit, and notifies the exchange when it takes long.
//
// # Limitations
//
// Requests are not pipelined, and a connection does not change its protocol. A request is sent
// whole before the response is read.
package origin

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// Pool keeps connections to one server for later exchanges. Its methods are for any goroutine.
type Pool struct {
	// Dial makes a connection.
	Dial func(context.Context) (net.Conn, error)
	// MaxIdle is the number of connections that are kept.
	MaxIdle int
	// IdleTimeout is how long a connection is kept.
	IdleTimeout time.Duration

	mu     sync.Mutex // guards what follows
	idle   []*Conn    // the latest last
	expiry *time.Timer
	closed bool
}

// Take returns a connection that was kept and that its server has not closed, or nil.
func (p *Pool) Take() *Conn {
	for {
		c := p.pop()
		if c == nil || c.isQuiet() {
			return c
		}
		_ = c.conn.Close()
	}
}

// triesQuiet reports whether an idle connection without a descriptor may be used. That is known if
// the connection has a read that does not wait, as one of a network stack in user space has.
func (c *Conn) triesQuiet() bool {
	t, ok := c.conn.(interface{ TryRead(p []byte) (int, error) })
	if !ok {
		return true
	}
	var room [1]byte
	n, err := t.TryRead(room[:])
	return n == 0 && errors.Is(err, syscall.EAGAIN)
}

// pop takes out the connection that was used last; nil: there is none.
func (p *Pool) pop() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

// Connect makes a new connection.
func (p *Pool) Connect(ctx context.Context) (*Conn, error) {
	conn, err := p.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &Conn{pool: p, conn: conn}
	if s, ok := conn.(syscall.Conn); ok {
		c.raw, _ = s.SyscallConn()
	}
	return c, nil
}

// keep keeps a connection whose exchange is complete. It reports whether it did.
func (p *Pool) keep(c *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= p.MaxIdle {
		return false
	}
	c.idleSince = time.Now()
	p.idle = append(p.idle, c)
	if p.expiry == nil {
		p.expiry = time.AfterFunc(p.IdleTimeout, p.expire)
	}
	return true
}

// expire closes the connections that were kept for long enough.
func (p *Pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	now, n := time.Now(), 0
	for n < len(p.idle) && now.Sub(p.idle[n].idleSince) >= p.IdleTimeout {
		_ = p.idle[n].conn.Close()
		n++
	}
	p.idle = append(p.idle[:0:0], p.idle[n:]...)
	if p.expiry = nil; len(p.idle) > 0 {
		p.expiry = time.AfterFunc(p.IdleTimeout-now.Sub(p.idle[0].idleSince), p.expire)
	}
}

// Close closes the connections that are kept. Exchanges in progress continue, and their connections
// are not kept.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		_ = c.conn.Close()
	}
	p.idle = nil
	if p.expiry != nil {
		p.expiry.Stop()
	}
}
