package serve

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is a connection of a loop.
type conn struct {
	l      *loop
	fd     int
	remote net.Addr
	driver driver

	// Owned by the loop.
	readable bool // a read may give something
	hup      bool // the end, or an error, is there to be read: no further edge will tell
	queued   bool // stands in the loop's again
	broken   bool // reset, or failed otherwise: no further edge will tell
	over     bool // the peer has finished, or the connection is broken: nothing to linger for
	ended    bool // the session or handler has ended; implied by closed
	closed   bool
	timer    timer
	idle     *idler // nil without Options.Idle

	// Shared.
	out      outbox
	posted   atomic.Bool // stands in the loop's list of posts
	unwanted atomic.Bool // Close was called
	output   atomic.Bool // something was written
	goid     atomic.Uint64
}

// driver is what the loop calls: a session, or a coroutine. All by the loop's goroutine.
type driver interface {
	ready()              // a read may give something; nothing while it is queued: its turn comes
	writable()           // the kernel may take more
	due(now time.Time)   // the timer has come
	woken(now time.Time) // posted
	end(err error)       // must close now
	handOver()           // is to be handed over now, if it can
}

// read reads once. It returns syscall.EAGAIN when there is nothing, and io.EOF at the end.
func (c *conn) read(p []byte) (int, error) {
	n, errno := rawRead(c.fd, p)
	switch {
	case errno == syscall.EAGAIN:
		c.readable = false
		return 0, syscall.EAGAIN
	case errno != 0:
		c.over = true
		return 0, os.NewSyscallError("read", errno)
	case n == 0:
		c.over = true
		return 0, io.EOF
	}
	if n < len(p) && !c.hup {
		c.readable = false
	}
	if c.idle != nil {
		c.idle.passed.Add(1)
	}
	c.l.lane.reads.add(1)
	c.l.lane.readBytes.add(int64(n))
	return n, nil
}

// tryWrite implements taker. Guarded by c.out, so that the descriptor is not closed meanwhile.
func (c *conn) tryWrite(p []byte) (int, error) {
	n, errno := rawWrite(c.fd, p)
	switch {
	case errno == syscall.EAGAIN:
		return 0, nil
	case errno != 0:
		return 0, os.NewSyscallError("write", errno)
	}
	if !c.output.Load() {
		c.output.Store(true)
	}
	if c.idle != nil {
		c.idle.passed.Add(1)
	}
	c.l.lane.writes.Add(1)
	c.l.lane.writtenBytes.Add(int64(n))
	return n, nil
}

// setTimer sets the connection's one timer; zero unsets it.
func (c *conn) setTimer(t time.Time) {
	if t.IsZero() {
		c.l.timers.unset(&c.timer)
		return
	}
	c.l.timers.set(&c.timer, c.l.at(t))
}

// close forgets the connection. Its descriptor is closed after the turn.
func (c *conn) close() {
	if c.closed {
		return
	}
	c.closed, c.ended = true, true
	c.out.close()
	c.unsetTimers()
	c.l.conns[c.fd] = nil
	c.l.open--
	c.l.load.Add(-1)
	c.l.dead = append(c.l.dead, c.fd)
	c.l.lane.closed.add(1)
}

func (c *conn) unsetTimers() {
	c.l.timers.unset(&c.timer)
	if c.idle != nil {
		c.l.timers.unset(&c.idle.timer)
	}
}

// started implements Go.
func (c *conn) started() { c.l.handed.Store(true) }

// Send implements Conn.
func (c *conn) Send(p []byte) bool {
	if c.out.put(p, c, c.l.o.Queue) {
		return true
	}
	c.l.lane.refused.Add(1)
	return false
}

// Post implements Conn.
func (c *conn) Post() { c.l.post(c) }

// Close implements Conn.
func (c *conn) Close() {
	c.unwanted.Store(true)
	c.l.post(c)
}

// RemoteAddr implements Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }
