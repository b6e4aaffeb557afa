package serve

import (
	"iter"
	"os"
)

// coroutine runs turns of handlers on an event loop, one after the other. A call of a handler that
// would block yields to the loop, which resumes the coroutine when the call can continue. Between
// turns it belongs to the loop.
type coroutine struct {
	// resumes the turn until it waits or has ended; false: the coroutine has ended
	resume func() (struct{}, bool)
	stop   func()              // ends the coroutine, between turns
	yield  func(struct{}) bool // from the handler back to the loop
	conn   *handlerConn        // whose turn it runs; nil: the turn has ended
	result Next                // of the turn that has ended
}

func newCoroutine() *coroutine {
	k := new(coroutine)
	k.resume, k.stop = iter.Pull(func(yield func(struct{}) bool) {
		k.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			k.conn.noteGoroutine()
			k.result = k.conn.turn()
			k.conn = nil
		}
	})
	return k
}

// maxSpareCoroutines is how many coroutines a loop keeps for later turns.
const maxSpareCoroutines = 64

// takeCoroutine returns a coroutine for a turn of c.
func (l *loop) takeCoroutine(c *handlerConn) (k *coroutine) {
	if last := len(l.spareCoroutines) - 1; last >= 0 {
		k, l.spareCoroutines = l.spareCoroutines[last], l.spareCoroutines[:last]
	} else {
		k = newCoroutine()
	}
	k.conn = c
	return k
}

// returnCoroutine takes back a coroutine whose turn has ended.
func (l *loop) returnCoroutine(k *coroutine) {
	if len(l.spareCoroutines) < maxSpareCoroutines {
		l.spareCoroutines = append(l.spareCoroutines, k)
		return
	}
	k.stop()
}

// stopCoroutines ends the coroutines that are kept.
func (l *loop) stopCoroutines() {
	for _, k := range l.spareCoroutines {
		k.stop()
	}
	l.spareCoroutines = nil
}

// resumeCoroutine resumes the coroutine of the turn, or starts a turn.
func (c *handlerConn) resumeCoroutine() {
	if c.coroutine == nil {
		c.coroutine = c.loop.takeCoroutine(c)
	}
	k := c.coroutine
	c.loop.runningHandler = c
	_, more := k.resume() // does not return if the handler calls Goexit
	c.loop.runningHandler = nil
	switch o := c.off.Load(); {
	case !more:
		c.coroutine = nil
		c.finish()
	case k.conn == nil:
		c.coroutine = nil
		c.loop.returnCoroutine(k)
		c.next(k.result)
	case c.waitingFor == waitAway:
		if c.endErr != nil || c.closed.Load() {
			c.letGo(o)
		}
		go c.runAway(o)
		c.loop.mustYield.Store(true)
	}
}

// wait yields until the event, the time, or the end of the connection. The time is loop time, and
// zero is no limit. A wait for a read or write has the deadline of that.
func (c *handlerConn) wait(w waitReason, until int64) error {
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
	if c.loop.timers.remove(&c.timer); until != 0 {
		c.loop.timers.set(&c.timer, until)
	}
	c.waitingFor, c.timedOut = w, false
	c.coroutine.yield(struct{}{})
	c.loop.timers.remove(&c.timer)
	if err := c.checkUsable(0); err != nil {
		return err
	}
	if c.timedOut {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// deadlineOf returns the deadline of a wait for a read or write, in loop time; 0: none.
func (c *handlerConn) deadlineOf(w waitReason) int64 {
	switch w {
	case waitRead, waitIdle:
		return c.readDeadline.Load()
	case waitWrite:
		return c.writeDeadline.Load()
	}
	return 0
}

// shareLoop yields to the other connections after some reads or writes that did not wait.
func (c *handlerConn) shareLoop() error {
	if c.callsThisTurn++; c.callsThisTurn <= readsPerTurn || c.coroutine == nil {
		return nil
	}
	c.loop.deferRead(c.conn)
	return c.wait(waitTurn, 0)
}
