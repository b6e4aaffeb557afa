package serve

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

func (c *coroutine) sleep(d time.Duration) error {
	if c.stops() {
		return ErrStopped
	}
	err := c.wait(nothingElse, time.Now().Add(d))
	switch {
	case err == nil: // resumed before its time
		return ErrStopped
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}

// await runs f in a goroutine, which ends with f and then posts the connection.
func (c *coroutine) await(f func()) error {
	if err := c.usable(time.Time{}); err != nil {
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
			c.l.post(c.conn)
		}()
		f()
		returned = true
	}()
	c.l.handed.Store(true)
	for !done.Load() {
		if err := c.wait(aPost, time.Time{}); err != nil {
			return err
		}
	}
	if failure != nil {
		panic(failure)
	}
	return nil
}

// poke, abandon, hold, arm and stops implement host.
func (c *coroutine) poke() {
	c.pokes.Store(true)
	c.l.post(c.conn)
}

func (c *coroutine) abandon() { c.conn.Close() }

func (c *coroutine) hold(until time.Time) error {
	if err := c.wait(aPost, until); !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// sharedBuffer implements host. The loop's coroutines read into one buffer: a session has used what
// was read before its coroutine yields.
func (c *coroutine) sharedBuffer() []byte { return c.l.buf }

// lend and takeBack implement host: a coroutine has a buffer to write from a session's call until
// the kernel has taken it.
func (c *coroutine) lend(w *Writer) {
	if last := len(c.l.spare) - 1; w.buf == nil && last >= 0 {
		w.buf, c.l.spare = c.l.spare[last], c.l.spare[:last]
	}
}

func (c *coroutine) takeBack(w *Writer) {
	if len(c.l.spare) < spares && cap(w.buf) > 0 {
		c.l.spare = append(c.l.spare, w.buf)
	}
	w.buf = nil
}

func (c *coroutine) arm(until time.Time) { c.SetDeadline(until) }

func (c *coroutine) stops() bool { return c.l.deadline != 0 }
