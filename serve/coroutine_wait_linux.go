package serve

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

func (c *coroutine) sleep(d time.Duration) error {
	if c.isStopping() {
		return ErrStopped
	}
	err := c.wait(waitTimer, time.Now().Add(d))
	switch {
	case err == nil: // resumed before the time
		return ErrStopped
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}

// await runs f in a goroutine, which posts the connection when f has returned.
func (c *coroutine) await(f func()) error {
	if err := c.checkUsable(time.Time{}); err != nil {
		return err
	}
	var done atomic.Bool
	var failure any
	go func() {
		returned := false
		defer func() {
			if failure = recover(); failure == nil && !returned {
				failure = ErrGoexit
			}
			done.Store(true)
			c.loop.post(c.conn)
		}()
		f()
		returned = true
	}()
	c.loop.mustYield.Store(true)
	for !done.Load() {
		if err := c.wait(waitPost, time.Time{}); err != nil {
			return err
		}
	}
	if failure != nil {
		panic(failure)
	}
	return nil
}

// interrupt, abandon, waitEvent, arm and stops implement sessionHost.
func (c *coroutine) interrupt() {
	c.interruptPosted.Store(true)
	c.loop.post(c.conn)
}

// resumesWrites reports whether a Write that its deadline cut short can be continued.
func (*coroutine) resumesWrites() bool { return true }

func (c *coroutine) abandon() { c.conn.Close() }

func (c *coroutine) waitEvent(until time.Time) error {
	if err := c.wait(waitPost, until); !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// sharedBuffer implements sessionHost. All coroutines of a loop read into one buffer: a session has
// used the bytes before its coroutine yields.
func (c *coroutine) sharedBuffer() []byte { return c.loop.readBuf }

// lendBuffer and returnBuffer implement sessionHost. A coroutine has a write buffer only from a
// session's call until the kernel has taken the output.
func (c *coroutine) lendBuffer(w *Writer) {
	if last := len(c.loop.spareBuffers) - 1; w.buf == nil && last >= 0 {
		w.buf, c.loop.spareBuffers = c.loop.spareBuffers[last], c.loop.spareBuffers[:last]
	}
}

func (c *coroutine) returnBuffer(w *Writer) {
	if len(c.loop.spareBuffers) < maxSpareBuffers && cap(w.buf) > 0 {
		c.loop.spareBuffers = append(c.loop.spareBuffers, w.buf)
	}
	w.buf = nil
}

func (c *coroutine) arm(until time.Time) { c.SetDeadline(until) }

func (c *coroutine) isStopping() bool { return c.loop.drainDeadline != 0 }
