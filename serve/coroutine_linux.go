package serve

import (
	"cmp"
	"iter"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// coroutine runs a handler on an event loop. It is the net.Conn that the handler receives. A call
// that would block yields to the loop, which resumes the coroutine when the call can continue.
// Handler and loop never run at the same time, so their state needs no lock.
//
// Read and Write belong to the handler, or, while it works off the loop, to any goroutine. Close,
// the deadlines and the addresses are always for any goroutine: they store what they set, and tell
// a handler that waits. The loop alone acts on it, so no descriptor is closed while another
// goroutine has its number.
//
// At the deadline of a stop, every blocking call returns ErrStopped at once. A handler that does
// not return even then keeps its loop, and Run waits for it.
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

	// The connection has ended while the handler was off the loop. It never returns there, and only
	// what other goroutines may use is still its own. The handler owns this field.
	orphaned bool

	// Shared with other goroutines.
	suspended       atomic.Bool  // the handler waits on the loop; stored by the handler
	closed          atomic.Bool  // Close was called, or the connection has ended
	readDeadline    atomic.Int64 // of Read, in loop time; 0: none
	writeDeadline   atomic.Int64 // of Write
	interruptPosted atomic.Bool  // set by any goroutine for the loop: the post is an interrupt
	// set by the handler while it is off the loop; nil: it is not
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
	switch o := c.off.Load(); {
	case !more:
		c.finish()
	case c.waitingFor == waitAway:
		if c.endErr != nil || c.closed.Load() {
			c.letGo(o)
		}
		go c.runAway(o)
		c.loop.mustYield.Store(true)
	}
}

// letGo ends a connection whose handler is off the loop, and leaves the handler to the goroutine
// there. It reports whether that goroutine still runs it: otherwise it has yielded to the loop.
func (c *coroutine) letGo(o *offLoop) bool {
	o.fail(cmp.Or(c.endErr, net.ErrClosed))
	c.finish()
	return o.orphan()
}

// finish ends the connection.
func (c *coroutine) finish() {
	c.closed.Store(true)
	c.conn.finish()
}

// wait yields until the event, the time, or the end of the connection. The time is loop time, and
// zero is no limit. A wait for a read or write has the deadline of that.
func (c *coroutine) wait(w waitReason, until int64) error {
	// This store precedes the loads of what other goroutines set, and they set it before they load
	// suspended: either this wait sees it, or they post.
	c.suspended.Store(true)
	defer c.suspended.Store(false)
	if until == 0 {
		until = c.deadlineOf(w)
	}
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
	if until != 0 {
		c.loop.timers.set(&c.timer, until)
	}
	c.waitingFor, c.timedOut = w, false
	c.yield(struct{}{})
	c.loop.timers.remove(&c.timer)
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

// deadlineOf returns the deadline of a wait for a read or write, in loop time; 0: none.
func (c *coroutine) deadlineOf(w waitReason) int64 {
	switch w {
	case waitRead:
		return c.readDeadline.Load()
	case waitWrite:
		return c.writeDeadline.Load()
	}
	return 0
}

// shareLoop yields to the other connections after some reads or writes that did not wait.
func (c *coroutine) shareLoop() error {
	if c.callsThisTurn++; c.callsThisTurn <= readsPerTurn {
		return nil
	}
	c.loop.deferRead(c.conn)
	return c.wait(waitTurn, 0)
}

// onReadable implements driver. A stop ends sleeps and pauses early through it.
func (c *coroutine) onReadable() {
	if o := c.off.Load(); o != nil {
		if c.broken {
			o.fail(c.brokenError())
		}
		if c.isStopping() {
			o.stop()
		}
		tryAgain(o.readable)
		c.loop.mustYield.Store(true)
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
		c.loop.mustYield.Store(true)
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
	if c.closed.Load() {
		c.end(net.ErrClosed)
		return
	}
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
	if c.waitingFor == waitRead || c.waitingFor == waitWrite {
		c.applyDeadline()
	}
}

// applyDeadline sets the timer of a read or write that waits, whose deadline may have changed.
func (c *coroutine) applyDeadline() {
	if by := c.deadlineOf(c.waitingFor); by != 0 {
		c.loop.timers.set(&c.timer, by)
		return
	}
	c.loop.timers.remove(&c.timer)
}

// end implements driver.
func (c *coroutine) end(err error) {
	c.endErr = err
	if o := c.off.Load(); o != nil {
		if !c.letGo(o) {
			c.onYield(o)
		}
		return
	}
	if c.waitingFor != waitNone {
		c.resume()
	}
}
