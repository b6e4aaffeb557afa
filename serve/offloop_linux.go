package serve

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// offLoop is the connection of a coroutine whose handler works off the event loop: see [LeaveLoop].
// Another goroutine than the loop's resumes the coroutine meanwhile. Any goroutine may use the
// connection, by system calls that do not block. The loop signals readiness, and the end of the
// connection.
type offLoop struct {
	conn               *conn
	readable, writable chan struct{} // from the loop: try again; capacity 1, never closed
	failed             chan struct{} // closed when err is set; carries no values
	stopping           atomic.Bool   // the service stops

	readBy, writeBy sharedDeadline

	reading          sync.Mutex // held by read, guards what follows
	reads, readBytes int64      // for the counters of the loop
	writing          sync.Mutex // held by write

	mu       sync.Mutex // guards what follows
	err      error      // why reads and writes fail; nil: they do not
	yielded  bool       // the handler waits to return to the loop, or has ended
	orphaned bool       // the connection has ended: the loop no longer resumes the coroutine
	ended    bool       // the handler has ended
}

func newOffLoop(c *coroutine) *offLoop {
	o := &offLoop{conn: c.conn, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1), failed: make(chan struct{})}
	o.stopping.Store(c.isStopping())
	o.readBy.set(c.readDeadline)
	o.writeBy.set(c.writeDeadline)
	return o
}

// leaveLoop implements waiter. The loop starts a goroutine that resumes the coroutine. It reports
// whether the handler was on the loop.
func (c *coroutine) leaveLoop() (left bool) {
	if c.off.Load() != nil || c.checkUsable(time.Time{}) != nil {
		return false // it is off the loop, or every call fails at once
	}
	c.off.Store(newOffLoop(c))
	c.waitingFor = waitAway
	c.yield(struct{}{})
	return true
}

// returnToLoop implements waiter. If the connection has ended meanwhile, the handler ends off the
// loop, where every call that would wait fails.
func (c *coroutine) returnToLoop() {
	o := c.off.Load()
	if o == nil {
		return
	}
	c.yield(struct{}{})
	c.off.Store(nil)
	c.readDeadline, c.writeDeadline = o.readBy.get(), o.writeBy.get()
	if c.state == connServing {
		c.readable = true // the last event was passed on
		c.loop.counters.reads.add(o.reads)
		c.loop.counters.readBytes.add(o.readBytes)
	}
}

// runAway runs the handler until it returns to the loop or ends.
func (c *coroutine) runAway(o *offLoop) {
	more := false
	defer func() { // also after a Goexit of the handler
		if o.noteYield(!more) {
			c.loop.post(c.conn)
			return
		}
		for more { // to its end: every call that would wait fails
			_, more = c.next()
		}
	}()
	_, more = c.next()
}

// noteYield notes that the handler waits to return to the loop, or has ended. It reports whether
// the loop takes over.
func (o *offLoop) noteYield(ended bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.yielded, o.ended = true, ended
	return !o.orphaned
}

// orphan leaves the coroutine to the goroutine that runs the handler. It reports whether the
// handler still runs there.
func (o *offLoop) orphan() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orphaned = !o.yielded
	return o.orphaned
}

// onYield goes on with a coroutine whose handler has yielded. The loop calls it.
func (c *coroutine) onYield(o *offLoop) {
	o.mu.Lock()
	yielded, ended := o.yielded, o.ended
	o.mu.Unlock()
	switch {
	case ended:
		c.off.Store(nil)
		c.waitingFor = waitNone
		c.finish()
	case yielded:
		c.resume()
	}
}

// fail makes every read and write fail, those under way included.
func (o *offLoop) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		close(o.failed)
	}
}

// tryAgain lets a read or write that waits try again.
func tryAgain(ready chan struct{}) {
	select {
	case ready <- struct{}{}:
	default:
	}
}

// read is Read of a net.Conn. During a stop it returns ErrStopped when nothing has arrived, unless
// it goes on.
func (o *offLoop) read(p []byte, goesOn bool) (int, error) {
	o.reading.Lock()
	defer o.reading.Unlock()
	for len(p) > 0 {
		if err := o.check(&o.readBy); err != nil {
			return 0, err
		}
		n, errno := o.whileOpen(func(fd int) (int, syscall.Errno) { return rawRead(fd, p) })
		switch {
		case errno == syscall.EAGAIN && o.stopping.Load() && !goesOn:
			return 0, ErrStopped
		case errno == syscall.EAGAIN:
			if err := o.wait(o.readable, &o.readBy); err != nil {
				return 0, err
			}
			continue
		case errno == syscall.EBADF:
			return 0, net.ErrClosed
		case errno != 0:
			return 0, os.NewSyscallError("read", errno)
		case n == 0:
			return 0, io.EOF
		}
		o.reads, o.readBytes = o.reads+1, o.readBytes+int64(n)
		if o.conn.idleCheck != nil {
			o.conn.idleCheck.transfers.Add(1)
		}
		return n, nil
	}
	return 0, nil
}

// write is Write of a net.Conn.
func (o *offLoop) write(p []byte) (done int, err error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	for done < len(p) {
		if err := o.check(&o.writeBy); err != nil {
			return done, err
		}
		var failure error
		n, errno := o.whileOpen(func(int) (n int, _ syscall.Errno) {
			n, failure = o.conn.tryWrite(p[done:])
			return n, 0
		})
		switch done += n; {
		case errno == syscall.EBADF:
			return done, net.ErrClosed
		case failure != nil:
			return done, failure
		case n == 0:
			if err := o.wait(o.writable, &o.writeBy); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// whileOpen calls f with the descriptor, which is not closed meanwhile. Its result is EBADF if the
// connection has ended.
func (o *offLoop) whileOpen(f func(fd int) (int, syscall.Errno)) (int, syscall.Errno) {
	b := &o.conn.outbox
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, syscall.EBADF
	}
	return f(o.conn.fd)
}

// check returns why no read or write is possible.
func (o *offLoop) check(d *sharedDeadline) error {
	if at := d.get(); !at.IsZero() && time.Until(at) <= 0 {
		return os.ErrDeadlineExceeded
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// wait waits until the loop has signalled that it is worth another try, a new deadline is set, the
// deadline has passed, or the connection has ended.
func (o *offLoop) wait(ready <-chan struct{}, d *sharedDeadline) error {
	at, changed := d.watch()
	var passed <-chan time.Time
	if !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		passed = timer.C
	}
	select {
	case <-ready:
	case <-changed:
	case <-passed:
	case <-o.failed:
	}
	return o.check(d)
}

// sharedDeadline is a deadline that any goroutine may set while another one waits for it.
type sharedDeadline struct {
	mu      sync.Mutex // guards what follows
	at      time.Time  // zero: none
	changed chan struct{}
}

// set sets the deadline; the zero time is none.
func (d *sharedDeadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

func (d *sharedDeadline) get() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// watch returns the deadline, and a channel that is closed when another one is set.
func (d *sharedDeadline) watch() (time.Time, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return d.at, d.changed
}
