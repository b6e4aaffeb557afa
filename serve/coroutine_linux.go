package serve

import (
	"iter"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// coroutine drives a handler. It is the net.Conn that the handler is given: what would block yields
// to the loop, which resumes it when it may go on. Handler and loop take turns and never run at
// once, so all of its state has one owner.
//
// Only the handler may call its methods, except poke. At the stop's deadline everything that would
// block returns ErrStopped at once; a handler that then still doesn't return keeps its loop, and
// Run waits for it.
type coroutine struct {
	*conn
	next  func() (struct{}, bool) // resumes the handler until it yields; false: it has returned
	yield func(struct{}) bool     // from the handler back to the loop
	wants want
	spent int   // reads and writes since it was resumed
	fired bool  // the timer or a poke came before what it wanted
	poked bool  // the next wait to read, to write or for a post ends at once
	err   error // everything that blocks returns it; nil: goes on

	readBy, writeBy time.Time // deadlines; zero: none

	pokes atomic.Bool // anybody -> loop: the post is a poke
}

// want is what a coroutine that has yielded waits for, beside its timer.
type want int

const (
	nothing want = iota
	toRead
	toWrite
	aPost
	aTurn       // only that the others have theirs
	nothingElse // only the time
)

func startCoroutine(c *conn, handle func(net.Conn)) {
	co := &coroutine{conn: c}
	c.driver = co
	co.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		c.noteGoroutine()
		if c.l.work.handle == nil {
			containPanic(c.l.o, c.l.lane, c.remote, func() { handle(co) })
			return
		}
		contain(c.l.o, c.l.lane, c.remote, func() error { handle(co); return nil })
	})
	co.resume()
}

// resume lets the handler run until it waits again.
func (c *coroutine) resume() {
	c.wants, c.spent = nothing, 0
	c.l.resumed = c
	_, more := c.next() // does not return when the handler calls Goexit
	c.l.resumed = nil
	if !more {
		c.finish()
	}
}

// wait yields until what is wanted may be there, until the time, or until the end. The time zero is
// never.
func (c *coroutine) wait(w want, until time.Time) error {
	if err := c.usable(until); err != nil {
		return err
	}
	if c.broken && (w == aPost || w == nothingElse) {
		c.err = c.failure()
		return c.err
	}
	if c.poked && (w == toRead || w == toWrite || w == aPost) {
		c.poked = false
		return os.ErrDeadlineExceeded
	}
	if !until.IsZero() {
		c.setTimer(until)
	}
	c.wants, c.fired = w, false
	c.yield(struct{}{})
	if !until.IsZero() {
		c.setTimer(time.Time{})
	}
	switch {
	case c.err != nil:
		return c.err
	case c.fired:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// turn lets the other connections have their turn after some reads or writes without waiting.
func (c *coroutine) turn() error {
	if c.spent++; c.spent <= readsPerTurn {
		return nil
	}
	c.l.later(c.conn)
	return c.wait(aTurn, time.Time{})
}

// ready implements driver. A stop cuts sleeps and pauses short by it.
func (c *coroutine) ready() {
	if c.queued {
		return
	}
	switch c.wants {
	case toRead, aTurn:
		c.resume()
	case aPost, nothingElse:
		if c.broken {
			c.err = c.failure()
		}
		if c.l.deadline != 0 || c.broken {
			c.resume()
		}
	}
}

func (c *coroutine) writable() {
	if c.wants == toWrite {
		c.resume()
	}
}

func (c *coroutine) due(time.Time) {
	c.fired = true
	c.resume()
}

func (c *coroutine) woken(time.Time) {
	poked := c.pokes.Swap(false)
	if c.wants == aPost || poked && (c.wants == toRead || c.wants == toWrite) {
		c.fired = poked
		c.resume()
		return
	}
	c.poked = c.poked || poked
}

func (c *coroutine) end(err error) {
	c.err = err
	if c.wants != nothing {
		c.resume()
	}
}

// Read implements net.Conn.
func (c *coroutine) Read(p []byte) (int, error) {
	for {
		if err := c.usable(c.readBy); err != nil || len(p) == 0 {
			return 0, err
		}
		if c.readable {
			if err := c.turn(); err != nil {
				return 0, err
			}
			n, err := c.read(p)
			if err != syscall.EAGAIN {
				return n, err
			}
		}
		if c.l.deadline != 0 {
			return 0, ErrStopped
		}
		if err := c.wait(toRead, c.readBy); err != nil {
			return 0, err
		}
	}
}

// Write implements net.Conn.
func (c *coroutine) Write(p []byte) (int, error) {
	done := 0
	for {
		if err := c.usable(c.writeBy); err != nil || len(p) == done {
			return done, err
		}
		n, err := c.tryWrite(p[done:])
		c.over = c.over || err != nil
		if done += n; err != nil || done == len(p) {
			return done, err
		}
		if n > 0 {
			err = c.turn()
		} else {
			err = c.wait(toWrite, c.writeBy)
		}
		if err != nil {
			return done, err
		}
	}
}

// usable says why nothing can be read or written any more.
func (c *coroutine) usable(by time.Time) error {
	switch {
	case c.ended:
		return net.ErrClosed
	case c.err != nil:
		return c.err
	case !by.IsZero() && time.Until(by) <= 0:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Close implements net.Conn.
func (c *coroutine) Close() error {
	if c.ended {
		return net.ErrClosed
	}
	c.finish()
	return nil
}

// LocalAddr implements net.Conn.
func (c *coroutine) LocalAddr() net.Addr {
	sa, err := syscall.Getsockname(c.fd)
	if err != nil || c.closed {
		return nil
	}
	return address(sa)
}

// SetDeadline implements net.Conn.
func (c *coroutine) SetDeadline(t time.Time) error {
	c.readBy, c.writeBy = t, t
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *coroutine) SetReadDeadline(t time.Time) error {
	c.readBy = t
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *coroutine) SetWriteDeadline(t time.Time) error {
	c.writeBy = t
	return nil
}
