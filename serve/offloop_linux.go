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

// offLoop is a connection whose handler works off the event loop: see [LeaveLoop]. Another
// goroutine than the loop's runs the handler meanwhile. Any goroutine may use the connection, by
// system calls that do not block. The loop signals readiness, and the end of the connection.
type offLoop struct {
	conn               *handlerConn  // of which it uses only what any goroutine may use
	readable, writable chan struct{} // from any goroutine: try again; capacity 1, never closed
	failed             chan struct{} // closed when err is set; carries no values
	stopping           atomic.Bool   // the service stops

	broken atomic.Bool // no lingering close: the peer has finished, or the connection is broken

	reading          sync.Mutex // held by read, guards what follows
	reads, readBytes int64      // for the counters of the loop
	writing          sync.Mutex // held by write

	mu       sync.Mutex    // guards what follows
	stopped  chan struct{} // closed by a stop; nil: no goroutine sleeps
	err      error         // why reads and writes fail; nil: they do not
	yielded  bool          // the handler waits to return to the loop, or its turn has ended
	orphaned bool          // the connection has ended: the loop leaves the handler to its goroutine
	turnOver bool          // the turn has ended
	next     Next          // its result
}

func newOffLoop(c *handlerConn) *offLoop {
	o := &offLoop{conn: c, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1), failed: make(chan struct{})}
	o.stopping.Store(c.isStopping())
	return o
}

// leaveLoop implements waiter. The loop starts a goroutine that resumes the coroutine; without one,
// the handler keeps the goroutine, and another runs the loop. It reports whether the handler was on
// the loop.
func (c *handlerConn) leaveLoop() (left bool) {
	if c.off.Load() != nil || c.orphaned || c.suspended.Load() {
		return false
	}
	o := newOffLoop(c)
	c.off.Store(o)
	c.waitingFor = waitAway
	if c.coroutine != nil {
		c.coroutine.yield(struct{}{})
		return true
	}
	c.loop.runningHandler = nil
	if c.endErr != nil || c.closed.Load() {
		c.letGo(o)
	}
	c.loop.giveAway()
	return true
}

// returnToLoop implements waiter. If the connection has ended meanwhile, the handler ends off the
// loop, where every call that would wait fails. Without a coroutine, the loop takes the connection
// back when the turn has ended.
func (c *handlerConn) returnToLoop() {
	o := c.off.Load()
	if o == nil || c.coroutine == nil {
		return
	}
	c.coroutine.yield(struct{}{})
	c.takeBack(o)
}

// skipLinger implements waiter.
func (c *handlerConn) skipLinger() {
	switch o := c.off.Load(); {
	case o != nil:
		o.broken.Store(true) // see takeBack
	case !c.orphaned:
		c.noLinger = true
	}
}

// takeBack ends what leaveLoop has begun.
func (c *handlerConn) takeBack(o *offLoop) {
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

// runAway runs the handler until it returns to the loop or its turn ends.
func (c *handlerConn) runAway(o *offLoop) {
	k := c.coroutine
	more := false
	defer func() { // also after a Goexit of the handler
		next := End
		if more && k.conn == nil {
			next = k.result
		}
		if o.noteYield(!more || k.conn == nil, next) {
			c.loop.post(c.conn)
			return
		}
		defer c.closeResponder()
		for more && k.conn != nil { // to its end: every call that would wait fails
			_, more = k.resume()
		}
		k.stop()
	}()
	_, more = k.resume()
}

// endTurnAway ends a turn without a coroutine off the loop.
func (c *handlerConn) endTurnAway(o *offLoop, next Next) {
	if o.noteYield(true, next) {
		c.loop.post(c.conn)
		return
	}
	c.closeResponder()
}

// noteYield notes that the handler waits to return to the loop, or that its turn has ended. It
// reports whether the loop takes over.
func (o *offLoop) noteYield(turnOver bool, next Next) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.yielded, o.turnOver, o.next = true, turnOver, next
	return !o.orphaned
}

func (o *offLoop) isOrphaned() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.orphaned
}

// orphan leaves the handler to the goroutine that runs it. It reports whether the
// handler still runs there.
func (o *offLoop) orphan() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orphaned = o.orphaned || !o.yielded
	return o.orphaned
}

// onYield goes on with a handler that has yielded, or whose turn has ended. The loop calls it.
func (c *handlerConn) onYield(o *offLoop) {
	o.mu.Lock()
	yielded, turnOver, next := o.yielded, o.turnOver, o.next
	o.mu.Unlock()
	switch {
	case turnOver:
		c.takeBack(o)
		if k := c.coroutine; k != nil && k.conn == nil {
			c.loop.returnCoroutine(k)
		}
		c.coroutine = nil
		c.next(next)
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

// read is Read of a net.Conn, or TryRead if it does not wait. During a stop it returns ErrStopped
// when nothing has arrived, unless it goes on.
func (o *offLoop) read(p []byte, goesOn, waits bool) (int, error) {
	o.reading.Lock()
	defer o.reading.Unlock()
	for len(p) > 0 {
		if err := o.check(o.conn.readDeadline.Load()); err != nil {
			return 0, err
		}
		n, errno := o.whileOpen(func(fd int) (int, syscall.Errno) { return rawRead(fd, p) })
		switch {
		case errno == syscall.EAGAIN && o.stopping.Load() && !goesOn:
			return 0, ErrStopped
		case errno == syscall.EAGAIN && !waits:
			return 0, syscall.EAGAIN
		case errno == syscall.EAGAIN:
			if err := o.wait(o.readable, &o.conn.readDeadline); err != nil {
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
		if err := o.check(o.conn.writeDeadline.Load()); err != nil {
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
			o.broken.Store(true)
			return done, failure
		case n == 0:
			if err := o.wait(o.writable, &o.conn.writeDeadline); err != nil {
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

// check returns why no read or write is possible. by is its deadline in loop time, 0 is none.
func (o *offLoop) check(by int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return o.err
	case o.conn.closed.Load():
		return net.ErrClosed
	case by != 0 && o.conn.loop.now() >= by:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// wait waits until another try is worth while, the deadline has passed, or the connection has
// ended.
func (o *offLoop) wait(ready <-chan struct{}, deadline *atomic.Int64) error {
	var passed <-chan time.Time
	if by := deadline.Load(); by != 0 {
		timer := time.NewTimer(time.Duration(by - o.conn.loop.now()))
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
