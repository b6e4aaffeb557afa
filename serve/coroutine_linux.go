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
// Only the handler may call its methods, except Close, interrupt, and those of a net.Conn while the
// handler works off the loop. At the deadline of a stop, every blocking call returns ErrStopped at
// once. A handler that does not return even then keeps its loop, and Run waits for it.
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

	// Set by any goroutine.
	interruptPosted atomic.Bool // for the loop: the post is an interrupt
	closed          atomic.Bool // Close was called

	// Set by the coroutine while its handler works off the loop; nil: it does not.
	off atomic.Pointer[offLoop]
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
	waitAway  // is resumed by another goroutine than the loop's
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
	switch {
	case !more:
		c.finish()
	case c.waitingFor == waitAway:
		go c.runAway(c.off.Load())
		c.loop.mustYield.Store(true)
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
	case c.closed.Load():
		return net.ErrClosed
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
	if o := c.off.Load(); o != nil {
		if c.broken {
			o.fail(c.brokenError())
		}
		o.stopping.Store(c.loop.drainDeadline != 0)
		tryAgain(o.readable)
		return
	}
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
	if o := c.off.Load(); o != nil {
		tryAgain(o.writable)
		return
	}
	if c.waitingFor == waitWrite {
		c.resume()
	}
}

func (c *coroutine) onTimer(time.Time) {
	c.timedOut = true
	c.resume()
}

func (c *coroutine) onPost(time.Time) {
	if o := c.off.Load(); o != nil {
		c.onYield(o)
		return
	}
	poked := c.interruptPosted.Swap(false)
	if c.waitingFor == waitPost || poked && (c.waitingFor == waitRead || c.waitingFor == waitWrite) {
		c.timedOut = poked
		c.resume()
		return
	}
	c.interruptPending = c.interruptPending || poked
}

// end implements driver. A handler that works off the loop goes on alone if its connection ends.
func (c *coroutine) end(err error) {
	c.endErr = err
	if o := c.off.Load(); o != nil {
		o.fail(err)
		c.finish()
		if !o.orphan() {
			c.onYield(o)
		}
		return
	}
	if c.waitingFor != waitNone {
		c.resume()
	}
	if c.closed.Load() {
		c.finish()
	}
}

// Read implements net.Conn.
func (c *coroutine) Read(p []byte) (int, error) { return c.readSome(p, false) }

// NetConn returns the connection for reads that a stop does not end.
func (c *coroutine) NetConn() net.Conn { return beyondStop{c} }

// beyondStop is a coroutine's connection, whose reads a stop does not end.
type beyondStop struct{ *coroutine }

// Read implements net.Conn.
func (c beyondStop) Read(p []byte) (int, error) { return c.readSome(p, true) }

// readSome reads what arrives first. During a stop it returns ErrStopped when nothing has arrived,
// unless it goes on.
func (c *coroutine) readSome(p []byte, goesOn bool) (int, error) {
	if o := c.off.Load(); o != nil {
		return o.read(p, goesOn)
	}
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
		if c.loop.drainDeadline != 0 && !goesOn {
			return 0, ErrStopped
		}
		if err := c.wait(waitRead, c.readDeadline); err != nil {
			return 0, err
		}
	}
}

// Write implements net.Conn.
func (c *coroutine) Write(p []byte) (int, error) {
	if o := c.off.Load(); o != nil {
		return o.write(p)
	}
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
	case c.state != connServing, c.closed.Load():
		return net.ErrClosed
	case c.endErr != nil:
		return c.endErr
	case !by.IsZero() && time.Until(by) <= 0:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Close implements net.Conn. Any goroutine may call it. The loop ends the connection in its next
// iteration.
func (c *coroutine) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	if o := c.off.Load(); o != nil {
		o.fail(net.ErrClosed)
	}
	c.conn.Close()
	return nil
}

// LocalAddr implements net.Conn.
func (c *coroutine) LocalAddr() net.Addr {
	c.outbox.mu.Lock()
	defer c.outbox.mu.Unlock()
	if c.outbox.closed {
		return nil
	}
	sa, err := syscall.Getsockname(c.fd)
	if err != nil {
		return nil
	}
	return address(sa)
}

// SetDeadline implements net.Conn.
func (c *coroutine) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *coroutine) SetReadDeadline(t time.Time) error {
	if o := c.off.Load(); o != nil {
		o.readBy.set(t)
		return nil
	}
	c.readDeadline = t
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *coroutine) SetWriteDeadline(t time.Time) error {
	if o := c.off.Load(); o != nil {
		o.writeBy.set(t)
		return nil
	}
	c.writeDeadline = t
	return nil
}
