package serve

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The event loop.
//
// Ownership: a loop's goroutine owns its connections, their sessions and coroutines, and its
// timers. Others reach it by post, which puts a connection into a list under a lock and wakes the
// loop; a connection stands in that list at most once, so the list is bounded by the connections.
// What is written to a connection is guarded by its outbox.
//
// Readiness is edge-triggered, for reading and writing at once, and registered once: pausing to
// read, for a hold or for a slow peer, is a flag and costs no system call. A read that gave less
// than was asked has emptied the socket, so a message costs one wait and one read.
//
// When a queue is full: see Conn.Send. A connection with output waiting is not read.
//
// Stop: the context's end is posted; the loop closes its listener, cuts holds and sleeps short,
// lets every connection handle what has arrived until a read would block, ends it with ErrStopped
// once its hold is over and its output gone, and returns. At Options.Drain the rest is ended as it
// is, and the loop returns ErrDeadline. When the stop hands over, every session is asked for its
// state first; those that stay are drained.
type loop struct {
	// Immutable.
	number int
	work   work
	o      Options
	poller *poller
	lane   *lane
	began  time.Time

	coroutines bool    // sessions too are run by coroutines
	all        []*loop // of the run
	cancel     func()  // stops all

	// Owned by the loop's goroutine, or by the next one when a session has ended that by a Goexit.
	// What it works through in a turn stands here, and not in its variables, so that the next one
	// goes on where it was.
	conns     []*conn // by descriptor
	open      int
	buf       []byte   // what is read, for sessions
	heirs     bool     // what is accepted has the listener's settings
	spare     [][]byte // to write into, for sessions run by coroutines
	out       Writer   // what sessions write
	timers    timers
	again     []*conn // may read more, but had their turn; each stands there once
	turn      []*conn // of those, who have their next turn now
	letters   []*conn // posted
	told      int     // of those, told
	comers    []arrival
	ready     int        // events of this turn
	done      int        // of those, handled
	draining  int        // connections, by descriptor, that the stop has told
	calling   *looped    // whose session is being called; nil: none
	resumed   *coroutine // that is running; nil: none
	share     int        // connections to adopt at most
	lingering list.List  // of *lingerer, the oldest first
	dead      []int      // to close after the turn, so that none is reused within it
	listener  int        // below zero: none
	paused    int64      // when to accept again, in loop time; 0: accepting
	deadline  int64      // when to give up, in loop time; 0: not stopping
	events    int        // since the last yield
	strays    int        // errors of one connection in a row, from accept
	failed    error      // the listener is of no use any more
	moving    bool       // with deadline: it hands over
	asked     bool       // to stop
	late      bool       // at the deadline there was more than lingering closes

	// Shared.
	mu       sync.Mutex
	posts    []*conn              // any goroutine -> loop
	arrivals []arrival            // another loop -> loop
	stop     bool                 // likewise
	move     bool                 // likewise, with stop
	calls    atomic.Uint64        // loop -> watchdog: how many calls there were
	called   atomic.Pointer[conn] // likewise: whom the loop is calling; nil: it waits
	goid     atomic.Uint64        // of the loop's goroutine; set before its first call
	handed   atomic.Bool          // a goroutine was started in this turn
	load     atomic.Int64         // connections that it has or is to have
}

// spares is how many buffers a loop keeps for its coroutines to write into.
const spares = 16

// readsPerTurn is how many reads of one connection there are before the others have their turn.
const readsPerTurn = 16

// runLoop runs Loop.
func runLoop(ctx context.Context, l net.Listener, w work, o Options) error {
	return runLoops(ctx, l, w, o, false)
}

// runCoroutine runs Coroutine.
func runCoroutine(ctx context.Context, l net.Listener, w work, o Options) error {
	return runLoops(ctx, l, w, o, true)
}

// runLoops runs o.Loops loops that share l, each with a duplicate of its descriptor.
func runLoops(ctx context.Context, l net.Listener, w work, o Options, coroutines bool) error {
	defer l.Close()
	dups, err := duplicates(l, o.Loops)
	if err != nil {
		return err
	}
	if _, ok := l.(*net.TCPListener); ok {
		// or each new connection would wake Go's netpoller too; a socket file would be removed,
		// though
		l.Close()
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	return loopsOver(ctx, dups, w, o, coroutines)
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

// loopsOver runs a loop for each listening descriptor, which they close.
func loopsOver(ctx context.Context, listeners []int, w work, o Options, coroutines bool) error {
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
		l.cancel, l.coroutines, l.share = cancel, coroutines, (len(o.Adopt)+len(listeners)-1)/len(listeners)
		loops = append(loops, l)
	}
	for _, l := range loops {
		l.all = loops
	}
	defer watch(loops, o)()
	return runAll(ctx, cancel, loops)
}

// runAll runs each loop in a goroutine until all have ended. The first that fails stops the others.
func runAll(ctx context.Context, stop func(), loops []*loop) error {
	var running sync.WaitGroup
	errs := make([]error, len(loops))
	for i, l := range loops {
		running.Go(func() {
			defer context.AfterFunc(ctx, func() { l.askToStop(handsOver(ctx, l.o)) })()
			errs[i] = l.live()
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

func newLoop(number, listener int, w work, o Options) (*loop, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	if err := p.add(listener, syscall.EPOLLIN|epollExclusive); err != nil {
		p.close()
		return nil, err
	}
	prepareSocket(listener)
	return &loop{number: number, work: w, o: o, poller: p, lane: o.Meter.lane(), began: time.Now(),
		buf: make([]byte, o.Read), listener: listener}, nil
}

// now is loop time.
func (l *loop) now() int64 { return int64(time.Since(l.began)) }

// at is the loop time of t.
func (l *loop) at(t time.Time) int64 { return max(1, int64(t.Sub(l.began))) }

// live runs the loop to its end. A session or handler that calls runtime.Goexit ends the loop's
// goroutine: then another goes on.
func (l *loop) live() (err error) {
	defer l.close()
	for returned := false; !returned; {
		endedc := make(chan struct{}) // closed by the goroutine, however it ends
		go func() {
			defer close(endedc)
			err = l.run()
			returned = true
		}()
		<-endedc
	}
	return errors.Join(err, l.failed)
}

// run is the loop's goroutine.
func (l *loop) run() error {
	if l.o.Stalled != nil {
		l.goid.Store(goroutineID())
	}
	l.endCasualties()
	l.adopt()
	for l.deadline == 0 || l.open > 0 {
		if l.done == l.ready { // or the goroutine before this one has left some
			l.ready, l.done = l.poller.wait(l.patience()), 0
			l.lane.turns.add(1)
			l.events += l.ready
		}
		l.runPosts()
		l.drain()
		for l.done < l.ready {
			l.done++
			l.event(&l.poller.events[l.done-1])
		}
		l.runAgain()
		if err := l.runTimers(); err != nil {
			return err
		}
		l.endTurn()
	}
	return nil
}

// endCasualties ends the connection whose session or handler has ended the goroutine before this
// one.
func (l *loop) endCasualties() {
	if s := l.calling; s != nil {
		l.calling = nil
		s.end(cmp.Or(s.ending, ErrGoexit))
	}
	if c := l.resumed; c != nil {
		l.resumed = nil
		c.finish()
	}
}

// patience is how long to wait, in milliseconds, rounded up; below zero for ever.
func (l *loop) patience() int {
	if len(l.again) > 0 {
		return 0
	}
	at, some := l.timers.next()
	for _, t := range []int64{l.paused, l.deadline} {
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
	return int(min((left-1)/1_000_000+1, farthest))
}

// farthest is the longest wait, in milliseconds: the kernel takes a C int. Who has to wait longer
// waits again.
const farthest = 1 << 30

// event handles one descriptor that is ready.
func (l *loop) event(e *syscall.EpollEvent) {
	fd := int(e.Fd)
	switch fd {
	case l.poller.event:
		l.poller.rearm()
		l.collect()
		l.runPosts()
		l.drain()
		return
	case l.listener:
		l.accept()
		return
	}
	if fd >= len(l.conns) || l.conns[fd] == nil {
		return // ended in this turn
	}
	c := l.conns[fd]
	const gone = syscall.EPOLLRDHUP | syscall.EPOLLHUP | syscall.EPOLLERR
	c.hup = c.hup || e.Events&gone != 0
	c.readable = c.readable || e.Events&(syscall.EPOLLIN|gone) != 0
	c.broken = c.broken || e.Events&(syscall.EPOLLERR|syscall.EPOLLHUP) != 0
	l.call(c)
	if e.Events&(syscall.EPOLLOUT|syscall.EPOLLERR|syscall.EPOLLHUP) != 0 {
		c.driver.writable()
	}
	if c.readable && !c.closed {
		c.driver.ready()
	}
}

// call notes for the watchdog that c is called.
func (l *loop) call(c *conn) {
	if l.o.Stalled != nil {
		l.calls.Add(1)
		l.called.Store(c)
	}
}

// later gives c another turn after the others have had theirs.
func (l *loop) later(c *conn) {
	if !c.queued {
		c.queued = true
		l.again = append(l.again, c)
	}
}

// runAgain gives those that had more to read their next turn.
func (l *loop) runAgain() {
	if len(l.turn) == 0 {
		l.turn, l.again = l.again, l.turn
	}
	for i := range l.turn {
		c := l.turn[i]
		if l.turn[i] = nil; c == nil {
			continue // the goroutine before this one has seen to it
		}
		c.queued = false
		if !c.closed {
			l.call(c)
			c.driver.ready()
		}
	}
	l.turn = l.turn[:0]
}

// runTimers wakes what has fallen due. It returns ErrDeadline when a stop took too long.
func (l *loop) runTimers() error {
	if len(l.timers) == 0 && l.paused == 0 && l.deadline == 0 {
		return nil
	}
	wall := time.Now()
	now := l.at(wall)
	for len(l.timers) > 0 && l.timers[0].at <= now {
		t := l.timers[0]
		l.timers.unset(t)
		l.call(t.of)
		if t == &t.of.timer {
			t.of.driver.due(wall)
		} else {
			l.lookIdle(t.of)
		}
	}
	if l.paused != 0 && now >= l.paused {
		l.resumeAccepting()
	}
	if l.deadline != 0 && now >= l.deadline && l.endAll() {
		return ErrDeadline
	}
	return nil
}

// drain begins the stop, once it was asked for: it tells each connection.
func (l *loop) drain() {
	if l.asked && l.deadline == 0 {
		l.stopAccepting()
		l.deadline = l.now() + int64(l.o.Drain)
	}
	for l.deadline != 0 && l.draining < len(l.conns) {
		c := l.conns[l.draining]
		l.draining++
		if c != nil && l.moving {
			l.call(c)
			c.driver.handOver()
		}
		if c != nil && !c.closed {
			c.readable = true // the read that would block is what says that nothing is left
			l.call(c)
			c.driver.ready()
		}
	}
}

// endAll closes what is left at the stop's deadline, and reports whether there was more than
// lingering closes.
func (l *loop) endAll() bool {
	for _, c := range l.conns {
		if c != nil {
			l.late = l.late || !c.ended
			l.call(c)
			c.driver.end(ErrStopped)
			c.close() // and does not linger
		}
	}
	return l.late
}

func (l *loop) endTurn() {
	if l.o.Stalled != nil {
		l.called.Store(nil)
	}
	if l.handed.Load() { // a raw wait would leave the new goroutine on this thread's queue
		l.handed.Store(false)
		runtime.Gosched()
	}
	if l.events >= yieldEvery {
		l.events = 0
		goyield()
	}
	l.bury()
}

// bury closes the descriptors of connections that ended in this turn.
func (l *loop) bury() {
	if len(l.dead) == 0 {
		return
	}
	for _, fd := range l.dead {
		syscall.Close(fd)
	}
	l.dead = l.dead[:0]
	if l.paused != 0 {
		l.resumeAccepting()
	}
}

func (l *loop) close() {
	l.stopAccepting()
	l.bury()
	l.mu.Lock()
	// a late post must not write to a descriptor that is somebody else's by then
	l.poller.woken.Store(true)
	l.poller.close()
	l.mu.Unlock()
	l.o.Meter.retire(l.lane)
}
