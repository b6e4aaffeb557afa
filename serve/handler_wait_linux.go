package serve

import (
	"errors"
	"os"
	"time"
)

// sleep implements waiter.
func (c *handlerConn) sleep(d time.Duration) error {
	if o := c.off.Load(); o != nil {
		return o.sleep(d)
	}
	if err := c.checkUsable(0); err != nil {
		return err
	}
	if c.isStopping() {
		return ErrStopped
	}
	if c.coroutine == nil && c.leaveLoop() {
		return c.off.Load().sleep(d)
	}
	err := c.wait(waitTimer, c.loop.at(time.Now().Add(d)))
	switch {
	case err == nil: // resumed before the time
		return ErrStopped
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}

// await implements waiter.
func (c *handlerConn) await(f func()) error {
	if o := c.off.Load(); o != nil {
		f()
		return o.check(0)
	}
	if err := c.checkUsable(0); err != nil {
		return err
	}
	OffLoop(c, f)
	return c.checkUsable(0)
}

// interrupt, abandon, waitEvent, arm and stops implement sessionHost.
func (c *handlerConn) interrupt() {
	c.interruptPosted.Store(true)
	c.loop.post(c.conn)
}

// resumesWrites reports whether a Write that its deadline cut short can be continued.
func (*handlerConn) resumesWrites() bool { return true }

func (c *handlerConn) abandon() { c.conn.Close() }

func (c *handlerConn) waitEvent(until time.Time) error {
	if err := c.wait(waitPost, c.loop.deadline(until)); !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// sharedBuffer implements sessionHost. All coroutines of a loop read into one buffer: a session has
// used the bytes before its coroutine yields.
func (c *handlerConn) sharedBuffer() []byte { return c.loop.readBuf }

// lendBuffer and returnBuffer implement sessionHost. A coroutine has a write buffer only from a
// session's call until the kernel has taken the output.
func (c *handlerConn) lendBuffer(w *Writer) {
	if last := len(c.loop.spareBuffers) - 1; w.buf == nil && last >= 0 {
		w.buf, c.loop.spareBuffers = c.loop.spareBuffers[last], c.loop.spareBuffers[:last]
	}
}

func (c *handlerConn) returnBuffer(w *Writer) {
	if len(c.loop.spareBuffers) < maxSpareBuffers && cap(w.buf) > 0 {
		c.loop.spareBuffers = append(c.loop.spareBuffers, w.buf)
	}
	w.buf = nil
}

func (c *handlerConn) arm(until time.Time) { c.SetDeadline(until) }

func (c *handlerConn) isStopping() bool { return c.loop.drainDeadline != 0 }

func (c *handlerConn) queuedInput() (queued, buffered int) { return arrivedInput(c.fd), 0 }
