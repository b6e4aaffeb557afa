package serve

import (
	"cmp"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

// handlerConn is a connection whose handler runs on an event loop. It is the net.Conn that the
// handler receives. The handler has turns: one if it is a function, or those of a [Responder].
//
// A turn runs in one of two ways. By the model Coroutine it runs on a coroutine: a call that would
// block yields to the loop, which resumes the coroutine when the call can continue. By the other
// models the loop calls it: a call that would block first gives the loop to another goroutine, and
// the turn keeps its own. Handler and loop never run at the same time, unless the handler is off
// the loop, so their state needs no lock.
//
// Read and Write belong to the handler, or, while it works off the loop, to any goroutine. Close,
// the deadlines and the addresses are always for any goroutine: they store what they set, and tell
// a handler that waits. The loop alone acts on it, so no descriptor is closed while another
// goroutine has its number.
//
// At the deadline of a stop, every blocking call returns ErrStopped at once. A handler that does
// not return even then keeps its loop, and Run waits for it.
type handlerConn struct {
	*conn
	host      func(net.Conn) // the handler if it is a function
	responder Responder      // otherwise; nil: not opened, or closed
	coroutine *coroutine     // that runs the turn; nil: none

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

// waitReason is the event that a handler waits for, besides its timer.
type waitReason int

const (
	waitNone waitReason = iota
	waitRead
	waitWrite
	waitPost
	waitTurn  // waits only for the other connections to have their turn
	waitTimer // waits for the timer only
	waitAway  // is resumed by another goroutine than the loop's
	waitIdle  // has ended its turn: the next one is for input, or the timer
)

// startHandler starts the handler of a connection: a function, or the responder of the service.
func startHandler(c *conn, host func(net.Conn)) {
	h := &handlerConn{conn: c, host: host}
	c.driver = h
	if h.loop.useCoroutines {
		h.resume()
		return
	}
	// not here: the handler may keep the goroutine, which accepts connections
	h.next(Again)
}

// resume runs the handler until it waits again.
func (c *handlerConn) resume() {
	c.waitingFor, c.callsThisTurn = waitNone, 0
	c.suspended.Store(false)
	if c.loop.useCoroutines {
		c.resumeCoroutine()
		return
	}
	c.loop.runningHandler = c
	next := c.turn()
	if o := c.off.Load(); o != nil { // another goroutine has the loop
		c.endTurnAway(o, next)
		runtime.Goexit()
	}
	c.loop.runningHandler = nil
	c.next(next)
}

// turn runs one turn of the handler.
func (c *handlerConn) turn() (next Next) {
	returned := false
	defer func() {
		v := recover()
		if v == nil && !returned {
			v = ErrGoexit
		}
		// the session's host counts it
		if v == nil || v == ErrGoexit && c.loop.service.open != nil {
			return
		}
		panicked(c.loop.options, c.loop.counters, c.remote, v)
		if o := c.off.Load(); v == ErrGoexit && o != nil && c.coroutine == nil {
			c.endTurnAway(o, End)
		}
	}()
	next = c.call()
	returned = true
	return next
}

// call calls the handler for one turn.
func (c *handlerConn) call() Next {
	switch {
	case c.host != nil:
		c.host(c)
		return End
	case c.responder == nil:
		if c.responder = c.loop.service.respond(c); c.responder == nil {
			return End
		}
	}
	return c.responder.Respond()
}

// next goes on after a turn.
func (c *handlerConn) next(next Next) {
	switch {
	case next == End || c.closed.Load():
		c.finish()
	case next == Again:
		c.waitingFor = waitTurn
		c.loop.deferRead(c.conn)
	default:
		c.idle()
	}
}

// idle waits for the next turn.
func (c *handlerConn) idle() {
	c.waitingFor = waitIdle
	c.suspended.Store(true) // see wait
	switch {
	case c.closed.Load():
		c.finish()
	case c.readable || c.broken:
		c.loop.deferRead(c.conn)
	default:
		c.applyDeadline()
	}
}

// finish ends the connection and its responder.
func (c *handlerConn) finish() {
	c.closed.Store(true)
	c.conn.finish()
	c.closeResponder()
}

// closeResponder closes the responder, once.
func (c *handlerConn) closeResponder() {
	r := c.responder
	if r == nil {
		return
	}
	c.responder = nil
	containPanic(c.loop.options, c.loop.counters, c.remote, r.Close)
}

// letGo ends a connection whose handler is off the loop, and leaves the handler to the goroutine
// there. It reports whether that goroutine still runs it: otherwise the loop goes on with it.
func (c *handlerConn) letGo(o *offLoop) bool {
	o.fail(cmp.Or(c.endErr, net.ErrClosed))
	c.closed.Store(true)
	c.conn.finish()
	return o.orphan()
}

// onReadable implements driver. A stop ends sleeps and pauses early through it.
func (c *handlerConn) onReadable() {
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
	case waitRead, waitTurn, waitIdle:
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

func (c *handlerConn) onWritable() {
	if o := c.off.Load(); o != nil {
		tryAgain(o.writable)
		c.loop.mustYield.Store(true)
		return
	}
	if c.waitingFor == waitWrite {
		c.resume()
	}
}

func (c *handlerConn) onTimer(time.Time) {
	if c.off.Load() != nil { // the time was that of the turn's start
		return
	}
	c.timedOut = true
	c.resume()
}

func (c *handlerConn) onPost(time.Time) {
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
	switch c.waitingFor {
	case waitRead, waitWrite, waitIdle:
		c.applyDeadline()
	}
}

// applyDeadline sets the timer of a read or write that waits, whose deadline may have changed.
func (c *handlerConn) applyDeadline() {
	by := c.deadlineOf(c.waitingFor)
	switch {
	case by == 0:
		c.loop.timers.remove(&c.timer)
	case by != c.timer.at || c.timer.index == unset:
		c.loop.timers.set(&c.timer, by)
	}
}

// end implements driver.
func (c *handlerConn) end(err error) {
	c.endErr = err
	if o := c.off.Load(); o != nil {
		if !c.letGo(o) {
			c.onYield(o)
		}
		return
	}
	switch c.waitingFor {
	case waitNone:
	case waitIdle:
		c.finish()
	case waitTurn:
		if c.coroutine == nil {
			c.finish()
			return
		}
		c.resume()
	default:
		c.resume()
	}
}
