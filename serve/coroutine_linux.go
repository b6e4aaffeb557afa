package serve

import (
	"iter"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// coroutine runs a handler on an event loop. It is the net.Conn that the handler receives. A call
// that would block yields to the loop, which resumes the coroutine when the call can continue.
// Handler and loop never run at the same time, so the state needs no lock.
//
// Only the handler may call its methods, except interrupt. At the deadline of a stop, every
// blocking call returns ErrStopped at once. A handler that does not return even then keeps its
// loop, and Run waits for it.
type coroutine struct {
	*conn
	// resumes the handler until it yields; false: it has returned
	next             func() (struct{}, bool)
	yield            func(struct{}) bool // from the handler back to the loop
	waitingFor       waitReason
	callsThisTurn    int   // reads and writes since it was resumed
	timedOut         bool  // the timer or an interrupt ended the wait
	interruptPending bool  // the next wait for a read, a write or a post ends at once
	endErr           error // every blocking call returns it; nil: no error

	readDeadline, writeDeadline time.Time // deadlines; zero: none

	interruptPosted atomic.Bool // set by any goroutine for the loop: the post is an interrupt
}

// waitReason is the event that a yielded coroutine waits for, besides its timer.
type waitReason int

const (
	waitNone waitReason = iota
	waitRead
	waitWrite
	waitPost
	waitTurn  // waits only for the other connections to have their turn
	waitTimer // waits for the timer only
)

func startCoroutine(c *conn, handle func(net.Conn)) {
	co := &coroutine{conn: c}
	c.driver = co
	co.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		c.noteGoroutine()
		if c.loop.service.handle == nil {
			containPanic(c.loop.options, c.loop.counters, c.remote, func() { handle(co) })
			return
		}
		contain(c.loop.options, c.loop.counters, c.remote, func() error { handle(co); return nil })
	})
	co.resume()
}

// resume runs the handler until it waits again.
func (c *coroutine) resume() {
	c.waitingFor, c.callsThisTurn = waitNone, 0
	c.loop.runningCoroutine = c
	_, more := c.next() // does not return if the handler calls Goexit
	c.loop.runningCoroutine = nil
	if !more {
		c.finish()
	}
}

// wait yields until the event, the time, or the end of the connection. The zero time is no limit.
func (c *coroutine) wait(w waitReason, until time.Time) error {
	if err := c.checkUsable(until); err != nil {
		return err
	}
	if c.broken && (w == waitPost || w == waitTimer) {
		c.endErr = c.brokenError()
		return c.endErr
	}
	if c.interruptPending && (w == waitRead || w == waitWrite || w == waitPost) {
		c.interruptPending = false
		return os.ErrDeadlineExceeded
	}
	if !until.IsZero() {
		c.setTimer(until)
	}
	c.waitingFor, c.timedOut = w, false
	c.yield(struct{}{})
	if !until.IsZero() {
		c.setTimer(time.Time{})
	}
	switch {
	case c.endErr != nil:
		return c.endErr
	case c.timedOut:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// shareLoop yields to the other connections after some reads or writes that did not wait.
func (c *coroutine) shareLoop() error {
	if c.callsThisTurn++; c.callsThisTurn <= readsPerTurn {
		return nil
	}
	c.loop.deferRead(c.conn)
	return c.wait(waitTurn, time.Time{})
}

// onReadable implements driver. A stop ends sleeps and pauses early through it.
func (c *coroutine) onReadable() {
	if c.readDeferred {
		return
	}
	switch c.waitingFor {
	case waitRead, waitTurn:
		c.resume()
	case waitPost, waitTimer:
		if c.broken {
			c.endErr = c.brokenError()
		}
		if c.loop.drainDeadline != 0 || c.broken {
			c.resume()
		}
	}
}

func (c *coroutine) onWritable() {
	if c.waitingFor == waitWrite {
		c.resume()
	}
}

func (c *coroutine) onTimer(time.Time) {
	c.timedOut = true
	c.resume()
}

func (c *coroutine) onPost(time.Time) {
	poked := c.interruptPosted.Swap(false)
	if c.waitingFor == waitPost || poked && (c.waitingFor == waitRead || c.waitingFor == waitWrite) {
		c.timedOut = poked
		c.resume()
		return
	}
	c.interruptPending = c.interruptPending || poked
}

func (c *coroutine) end(err error) {
	c.endErr = err
	if c.waitingFor != waitNone {
		c.resume()
	}
}

// Read implements net.Conn.
func (c *coroutine) Read(p []byte) (int, error) {
	for {
		if err := c.checkUsable(c.readDeadline); err != nil || len(p) == 0 {
			return 0, err
		}
		if c.readable {
			if err := c.shareLoop(); err != nil {
				return 0, err
			}
			n, err := c.read(p)
			if err != syscall.EAGAIN {
				return n, err
			}
		}
		if c.loop.drainDeadline != 0 {
			return 0, ErrStopped
		}
		if err := c.wait(waitRead, c.readDeadline); err != nil {
			return 0, err
		}
	}
}

// Write implements net.Conn.
func (c *coroutine) Write(p []byte) (int, error) {
	done := 0
	for {
		if err := c.checkUsable(c.writeDeadline); err != nil || len(p) == done {
			return done, err
		}
		n, err := c.tryWrite(p[done:])
		c.noLinger = c.noLinger || err != nil
		if done += n; err != nil || done == len(p) {
			return done, err
		}
		if n > 0 {
			err = c.shareLoop()
		} else {
			err = c.wait(waitWrite, c.writeDeadline)
		}
		if err != nil {
			return done, err
		}
	}
}

// checkUsable returns why no read or write is possible any more, or nil.
func (c *coroutine) checkUsable(by time.Time) error {
	switch {
	case c.state != connServing:
		return net.ErrClosed
	case c.endErr != nil:
		return c.endErr
	case !by.IsZero() && time.Until(by) <= 0:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Close implements net.Conn.
func (c *coroutine) Close() error {
	if c.state != connServing {
		return net.ErrClosed
	}
	c.finish()
	return nil
}

// LocalAddr implements net.Conn.
func (c *coroutine) LocalAddr() net.Addr {
	sa, err := syscall.Getsockname(c.fd)
	if err != nil || c.state == connClosed {
		return nil
	}
	return address(sa)
}

// SetDeadline implements net.Conn.
func (c *coroutine) SetDeadline(t time.Time) error {
	c.readDeadline, c.writeDeadline = t, t
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *coroutine) SetReadDeadline(t time.Time) error {
	c.readDeadline = t
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *coroutine) SetWriteDeadline(t time.Time) error {
	c.writeDeadline = t
	return nil
}
