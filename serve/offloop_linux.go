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
	co                 *coroutine    // of which it uses only what any goroutine may use
	readable, writable chan struct{} // from any goroutine: try again; capacity 1, never closed
	failed             chan struct{} // closed when err is set; carries no values
	stopping           atomic.Bool   // the service stops

	broken atomic.Bool // the peer has finished, or the connection is broken

	reading          sync.Mutex // held by read, guards what follows
	reads, readBytes int64      // for the counters of the loop
	writing          sync.Mutex // held by write

	mu       sync.Mutex    // guards what follows
	stopped  chan struct{} // closed by a stop; nil: no goroutine sleeps
	err      error         // why reads and writes fail; nil: they do not
	yielded  bool          // the handler waits to return to the loop, or has ended
	orphaned bool          // the connection has ended: the loop no longer resumes the coroutine
	ended    bool          // the handler has ended
}

func newOffLoop(c *coroutine) *offLoop {
	o := &offLoop{co: c, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1), failed: make(chan struct{})}
	o.stopping.Store(c.isStopping())
	return o
}

// leaveLoop implements waiter. The loop starts a goroutine that resumes the coroutine. It reports
// whether the handler was on the loop.
func (c *coroutine) leaveLoop() (left bool) {
	if c.off.Load() != nil || c.orphaned || c.suspended.Load() {
		return false
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
	o.fail(errNotHandler) // for goroutines that still use the connection
	o.reading.Lock()
	reads, readBytes := o.reads, o.readBytes
	o.reading.Unlock()
	if c.orphaned = o.isOrphaned(); !c.orphaned {
		c.noLinger = c.noLinger || o.broken.Load()
		c.loop.counters.reads.add(reads)
		c.loop.counters.readBytes.add(readBytes)
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

func (o *offLoop) isOrphaned() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.orphaned
}

// orphan leaves the coroutine to the goroutine that runs the handler. It reports whether the
// handler still runs there.
func (o *offLoop) orphan() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orphaned = o.orphaned || !o.yielded
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

// stop makes reads return ErrStopped when nothing has arrived, and ends sleeps. The loop calls it.
func (o *offLoop) stop() {
	o.stopping.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped != nil {
		close(o.stopped)
		o.stopped = nil
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
		if err := o.check(o.co.readDeadline.Load()); err != nil {
			return 0, err
		}
		n, errno := o.whileOpen(func(fd int) (int, syscall.Errno) { return rawRead(fd, p) })
		switch {
		case errno == syscall.EAGAIN && o.stopping.Load() && !goesOn:
			return 0, ErrStopped
		case errno == syscall.EAGAIN:
			if err := o.wait(o.readable, &o.co.readDeadline); err != nil {
				return 0, err
			}
			continue
		case errno == syscall.EBADF:
			return 0, net.ErrClosed
		case errno != 0:
			o.broken.Store(true)
			return 0, os.NewSyscallError("read", errno)
		case n == 0:
			o.broken.Store(true)
			return 0, io.EOF
		}
		o.reads, o.readBytes = o.reads+1, o.readBytes+int64(n)
		if o.co.idleCheck != nil {
			o.co.idleCheck.transfers.Add(1)
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
		if err := o.check(o.co.writeDeadline.Load()); err != nil {
			return done, err
		}
		var failure error
		n, errno := o.whileOpen(func(int) (n int, _ syscall.Errno) {
			n, failure = o.co.tryWrite(p[done:])
			return n, 0
		})
		switch done += n; {
		case errno == syscall.EBADF:
			return done, net.ErrClosed
		case failure != nil:
			o.broken.Store(true)
			return done, failure
		case n == 0:
			if err := o.wait(o.writable, &o.co.writeDeadline); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// whileOpen calls f with the descriptor, which is not closed meanwhile. Its result is EBADF if the
// connection has ended.
func (o *offLoop) whileOpen(f func(fd int) (int, syscall.Errno)) (int, syscall.Errno) {
	b := &o.co.outbox
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, syscall.EBADF
	}
	return f(o.co.fd)
}

// check returns why no read or write is possible. by is its deadline in loop time, 0 is none.
func (o *offLoop) check(by int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return o.err
	case o.co.closed.Load():
		return net.ErrClosed
	case by != 0 && o.co.loop.now() >= by:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// wait waits until another try is worth while, the deadline has passed, or the connection has
// ended.
func (o *offLoop) wait(ready <-chan struct{}, deadline *atomic.Int64) error {
	var passed <-chan time.Time
	if by := deadline.Load(); by != 0 {
		timer := time.NewTimer(time.Duration(by - o.co.loop.now()))
		defer timer.Stop()
		passed = timer.C
	}
	select {
	case <-ready: // also after a new deadline
	case <-passed:
	case <-o.failed:
	}
	return o.check(deadline.Load())
}

// sleep is Sleep off the loop.
func (o *offLoop) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.failed:
	case <-o.stopc():
		return ErrStopped
	}
	return o.check(0)
}

// stopc returns a channel that a stop closes.
func (o *offLoop) stopc() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.stopping.Load():
		return closedc
	case o.stopped == nil:
		o.stopped = make(chan struct{})
	}
	return o.stopped
}

// closedc is a closed channel.
var closedc = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
