package serve

import (
	"container/list"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/serve/lifecycle"
)

// The event loop.
//
// Ownership: a loop's goroutine owns its connections, their sessions and handlers, and its timers.
// It is not always the same goroutine: see giveAway. Other goroutines reach it by post, which adds
// a connection to a list under a lock and wakes the loop. A connection is in that list at most
// once, so the connections bound the list. The outbox of a connection guards its output.
//
// Readiness is edge-triggered, for reading and writing at once, and registered once. Pausing reads,
// for a session or for backpressure, is a flag and costs no system call. A read that returned less
// than its buffer has emptied the socket, so a message costs one wait and one read.
//
// When a queue is full: see Conn.Send. A connection with queued output is not read.
//
// Stop: the context's end is posted. The loop closes its listener and ends pauses and sleeps early.
// Every connection handles what has arrived until a read would block, a session no more than was
// there at its first read of the drain (lifecycle.Measure). It ends with ErrStopped once its pause
// is over and its output is sent. At Options.DrainTimeout the rest is closed, and the loop returns
// ErrDeadline. In a handover, every session is first asked for its state; those that stay are
// drained.
type loop struct {
	// Immutable.
	index     int
	service   serviceForm
	options   Options
	poller    *poller
	counters  *counterShard
	startedAt time.Time

	useCoroutines bool    // sessions and handlers run on coroutines
	siblings      []*loop // all loops of the run
	stopAll       func()  // stops all loops of the run

	// Owned by the loop's goroutine. The progress within an iteration is kept here and not in local
	// variables, so that the next goroutine continues there.
	conns           []*conn // by descriptor
	openConns       int
	readBuf         []byte       // read buffer for all sessions
	inheritsOptions bool         // accepted sockets inherit the listener's socket options
	spareBuffers    [][]byte     // write buffers for sessions that run as coroutines
	spareCoroutines []*coroutine // for turns of handlers
	writer          Writer       // output of the session call under way
	timers          timers
	deferredReads   []*conn // may read more, but have used up their turn; each is there once
	deferredBatch   []*conn // those of the iteration under way
	postBatch       []*conn // whose posts are handled in this iteration
	postsHandled    int     // how many of postBatch are handled
	newConns        []acceptedConn
	eventCount      int          // events of this iteration
	eventsHandled   int          // how many of the events are handled
	drainIndex      int          // drain: the next descriptor to visit
	callingSession  *loopSession // whose session is being called; nil: none
	runningHandler  *handlerConn // whose turn runs; nil: none
	tenure          *tenure      // of the loop's goroutine
	endedc          chan<- error // from the goroutine that has ended the loop; one result
	adoptLimit      int          // how many connections to adopt at most
	lingering       list.List    // of *lingeringConn, the oldest first
	// descriptors to close after the iteration, so that none is reused within it
	closingFDs       []int
	listenerFD       int   // descriptor; negative: none
	resumeAcceptAt   int64 // when to accept again, in loop time; 0: accepting
	drainDeadline    int64 // when to end the drain, in loop time; 0: not stopping
	eventsSinceYield int   // handled since the last yield
	acceptErrors     int   // errors of one connection in a row, from accept
	listenerErr      error // why the listener is unusable
	handingOver      bool  // with drainDeadline: it hands over
	stopRequested    bool  // a stop was requested
	closedEarly      bool  // at the deadline some connection was not in its lingering close

	// Shared.
	mu             sync.Mutex
	posts          []*conn        // any goroutine -> loop
	givenConns     []acceptedConn // another loop -> loop
	stopPosted     bool           // any goroutine -> loop: stop
	handoverPosted bool           // any goroutine -> loop: the stop hands over
	callCount      atomic.Uint64  // loop -> watchdog: the number of calls
	// loop -> watchdog: the connection whose code runs; nil: none
	calledConn  atomic.Pointer[conn]
	goroutineID atomic.Uint64 // of the loop's goroutine; set before its first call
	// a goroutine was started in this iteration: yield before the wait
	mustYield atomic.Bool
	// connections, those given to it but not yet opened included
	connCount atomic.Int64
}

// maxSpareBuffers is how many write buffers a loop keeps for its coroutines.
const maxSpareBuffers = 16

// readsPerTurn is how many reads one connection gets before the other connections have their turn.
const readsPerTurn = 16

// runLoop runs Loop.
func runLoop(ctx context.Context, l net.Listener, w serviceForm, o Options) error {
	return runLoops(ctx, l, w, o, false)
}

// runCoroutine runs Coroutine.
func runCoroutine(ctx context.Context, l net.Listener, w serviceForm, o Options) error {
	return runLoops(ctx, l, w, o, true)
}

// runLoops runs o.Loops loops that share l, each with a duplicate of its descriptor.
func runLoops(ctx context.Context, l net.Listener, w serviceForm, o Options, coroutines bool) error {
	defer l.Close()
	dups, err := duplicates(l, o.Loops)
	if err != nil {
		return err
	}
	if _, ok := l.(*net.TCPListener); ok {
		// Otherwise each new connection would wake Go's netpoller, too. A Unix listener stays open,
		// because closing it would remove the socket file.
		l.Close()
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	return runLoopsOver(ctx, dups, w, o, coroutines)
}

// duplicates returns n duplicates of the descriptor of l, or none.
func duplicates(l net.Listener, n int) (dups []int, err error) {
	err = withDescriptor(l, func(fd int) error {
		for range n {
			d, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
			if errno != 0 {
				return fmt.Errorf("serve: duplicating the listener: %w", errno)
			}
			dups = append(dups, int(d))
		}
		return nil
	})
	if err != nil {
		closeAll(dups)
		return nil, err
	}
	return dups, nil
}

// runLoopsOver runs a loop for each listening descriptor. The loops close the descriptors.
func runLoopsOver(ctx context.Context, listeners []int, w serviceForm, o Options, coroutines bool) error {
	release, err := reserve(len(listeners))
	if err != nil {
		closeAll(listeners)
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var loops []*loop
	for i, fd := range listeners {
		l, err := newLoop(i, fd, w, o)
		if err != nil {
			closeAll(listeners[i:])
			for _, l := range loops {
				l.close()
			}
			return err
		}
		l.stopAll, l.useCoroutines, l.adoptLimit = cancel, coroutines, (len(o.Adopt)+len(listeners)-1)/len(listeners)
		loops = append(loops, l)
	}
	for _, l := range loops {
		l.siblings = loops
	}
	defer startWatchdog(loops, o)()
	return runAll(ctx, cancel, loops)
}

// runAll runs each loop in a goroutine until all have ended. The first loop that fails stops the
// others.
func runAll(ctx context.Context, stop func(), loops []*loop) error {
	var running sync.WaitGroup
	errs := make([]error, len(loops))
	for i, l := range loops {
		running.Go(func() {
			defer context.AfterFunc(ctx, func() { l.requestStop(handsOver(ctx, l.options)) })()
			errs[i] = l.runToEnd()
			stop()
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		syscall.Close(fd)
	}
}

func newLoop(number, listener int, w serviceForm, o Options) (*loop, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	if err := p.add(listener, syscall.EPOLLIN|epollExclusive); err != nil {
		p.close()
		return nil, err
	}
	setSocketOptions(listener)
	return &loop{index: number, service: w, options: o, poller: p, counters: o.Meter.newShard(), startedAt: time.Now(),
		readBuf: make([]byte, o.ReadSize), listenerFD: listener}, nil
}

// now returns the loop time: nanoseconds since the loop started.
func (l *loop) now() int64 { return int64(time.Since(l.startedAt)) }

// lifeTime is now for the life of a session.
func (l *loop) lifeTime() lifecycle.Time { return lifecycle.Time(l.now()) }

// at returns the loop time of t.
func (l *loop) at(t time.Time) int64 { return max(1, int64(t.Sub(l.startedAt))) }

// deadline returns the loop time of t, and 0 for the zero time, which is no deadline.
func (l *loop) deadline(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return l.at(t)
}

// run is the loop's goroutine.
func (l *loop) run() error {
	if l.options.OnStall != nil {
		l.goroutineID.Store(goroutineID())
	}
	l.endGoexited()
	l.adopt()
	for l.drainDeadline == 0 || l.openConns > 0 {
		// otherwise the goroutine before this one has left some
		if l.eventsHandled == l.eventCount {
			l.eventCount, l.eventsHandled = l.poller.wait(l.pollTimeout()), 0
			l.counters.loopTurns.add(1)
			l.eventsSinceYield += l.eventCount
		}
		l.runPosts()
		l.drain()
		for l.eventsHandled < l.eventCount {
			l.eventsHandled++
			l.handleEvent(&l.poller.events[l.eventsHandled-1])
		}
		l.runDeferred()
		if err := l.runTimers(); err != nil {
			return err
		}
		l.endTurn()
	}
	return nil
}

// endGoexited ends the connection whose session or handler has ended the previous goroutine by a
// Goexit.
func (l *loop) endGoexited() {
	if s := l.callingSession; s != nil {
		l.callingSession = nil
		s.end(ErrGoexit)
	}
	if c := l.runningHandler; c != nil {
		l.runningHandler, c.coroutine = nil, nil
		c.finish()
	}
}

// pollTimeout returns how long to wait, in milliseconds, rounded up; negative: no limit.
func (l *loop) pollTimeout() int {
	if len(l.deferredReads) > 0 {
		return 0
	}
	at, some := l.timers.next()
	for _, t := range []int64{l.resumeAcceptAt, l.drainDeadline} {
		if t != 0 && (!some || t < at) {
			at, some = t, true
		}
	}
	if !some {
		return -1
	}
	left := at - l.now()
	if left <= 0 {
		return 0
	}
	return int(min((left-1)/1_000_000+1, maxPollTimeout))
}

// maxPollTimeout is the longest wait, in milliseconds: the kernel takes a C int. A longer wait is
// repeated.
const maxPollTimeout = 1 << 30

// handleEvent handles one ready descriptor.
func (l *loop) handleEvent(e *syscall.EpollEvent) {
	fd := int(e.Fd)
	switch fd {
	case l.poller.eventFD:
		l.poller.rearm()
		l.collect()
		l.runPosts()
		l.drain()
		return
	case l.listenerFD:
		l.accept()
		return
	}
	if fd >= len(l.conns) || l.conns[fd] == nil {
		return // ended in this iteration
	}
	c := l.conns[fd]
	const gone = syscall.EPOLLRDHUP | syscall.EPOLLHUP | syscall.EPOLLERR
	c.endPending = c.endPending || e.Events&gone != 0
	c.readable = c.readable || e.Events&(syscall.EPOLLIN|gone) != 0
	c.broken = c.broken || e.Events&(syscall.EPOLLERR|syscall.EPOLLHUP) != 0
	l.noteCall(c)
	if e.Events&(syscall.EPOLLOUT|syscall.EPOLLERR|syscall.EPOLLHUP) != 0 {
		c.driver.onWritable()
	}
	if c.readable && c.state != connClosed {
		c.driver.onReadable()
	}
}

// noteCall records for the watchdog that code of c runs now.
func (l *loop) noteCall(c *conn) {
	if l.options.OnStall != nil {
		l.callCount.Add(1)
		l.calledConn.Store(c)
	}
}

// deferRead gives c another turn after the other connections have had theirs.
func (l *loop) deferRead(c *conn) {
	if !c.readDeferred {
		c.readDeferred = true
		l.deferredReads = append(l.deferredReads, c)
	}
}

// runDeferred gives the connections with a deferred read their next turn.
func (l *loop) runDeferred() {
	if len(l.deferredBatch) == 0 {
		l.deferredBatch, l.deferredReads = l.deferredReads, l.deferredBatch
	}
	for i := range l.deferredBatch {
		c := l.deferredBatch[i]
		if l.deferredBatch[i] = nil; c == nil {
			continue // handled by the goroutine before this one
		}
		c.readDeferred = false
		if c.state != connClosed {
			l.noteCall(c)
			c.driver.onReadable()
		}
	}
	l.deferredBatch = l.deferredBatch[:0]
}

// runTimers handles expired timers. It returns ErrDeadline when a stop took too long.
func (l *loop) runTimers() error {
	if len(l.timers) == 0 && l.resumeAcceptAt == 0 && l.drainDeadline == 0 {
		return nil
	}
	wall := time.Now()
	now := l.at(wall)
	for len(l.timers) > 0 && l.timers[0].at <= now {
		t := l.timers[0]
		l.timers.remove(t)
		l.noteCall(t.conn)
		if t == &t.conn.timer {
			t.conn.driver.onTimer(wall)
		} else {
			l.checkIdle(t.conn)
		}
	}
	if l.resumeAcceptAt != 0 && now >= l.resumeAcceptAt {
		l.resumeAccepting()
	}
	if l.drainDeadline != 0 && now >= l.drainDeadline && l.closeRemaining() {
		return ErrDeadline
	}
	return nil
}

// drain starts the stop once it was requested: it visits each connection.
func (l *loop) drain() {
	if l.stopRequested && l.drainDeadline == 0 {
		l.stopAccepting()
		l.drainDeadline = l.now() + int64(l.options.DrainTimeout)
	}
	for l.drainDeadline != 0 && l.drainIndex < len(l.conns) {
		c := l.conns[l.drainIndex]
		l.drainIndex++
		if c != nil && l.handingOver {
			l.noteCall(c)
			c.driver.handOver()
		}
		if c != nil && c.state != connClosed {
			c.readable = true // the read that would block shows that nothing is left
			l.noteCall(c)
			c.driver.onReadable()
		}
	}
}

// closeRemaining closes the connections that are left at the stop's deadline, and reports whether
// any was not in its lingering close.
func (l *loop) closeRemaining() bool {
	for _, c := range l.conns {
		if c != nil {
			l.closedEarly = l.closedEarly || c.state == connServing
			l.noteCall(c)
			c.driver.end(ErrStopped)
			c.close() // without a lingering close
		}
	}
	return l.closedEarly
}

func (l *loop) endTurn() {
	if l.options.OnStall != nil {
		l.calledConn.Store(nil)
	}
	if l.mustYield.Load() { // a raw wait would leave the new goroutine on this thread's run queue
		l.mustYield.Store(false)
		runtime.Gosched()
	}
	if l.eventsSinceYield >= yieldEvery {
		l.eventsSinceYield = 0
		goyield()
	}
	l.closeDescriptors()
}

// closeDescriptors closes the descriptors of connections that ended in this iteration.
func (l *loop) closeDescriptors() {
	if len(l.closingFDs) == 0 {
		return
	}
	for _, fd := range l.closingFDs {
		rawClose(fd)
	}
	l.closingFDs = l.closingFDs[:0]
	if l.resumeAcceptAt != 0 {
		l.resumeAccepting()
	}
}

func (l *loop) close() {
	l.stopAccepting()
	l.stopCoroutines()
	l.closeDescriptors()
	l.mu.Lock()
	// a late post must not write to a descriptor that belongs to another file by then
	l.poller.wakePending.Store(true)
	l.poller.close()
	l.mu.Unlock()
	l.options.Meter.retire(l.counters)
}
