package serve

import (
	"container/list"
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// runGoroutines runs Goroutine.
//
// Ownership: the goroutine of a connection owns its session or is its handler; the goroutine that
// called Run accepts. When descriptors run out accepting pauses. Nothing is queued beside
// Conn.Send's queues.
//
// Stop: see crowd.
func runGoroutines(ctx context.Context, l net.Listener, w work, o Options) error {
	c := newCrowd(l, w, o)
	return c.run(ctx, func() error {
		accepted := o.Meter.lane()
		defer o.Meter.retire(accepted)
		for m := w.arrivals.next(); m != nil; m = w.arrivals.next() {
			c.members.Go(func() { c.adopt(m) })
		}
		for {
			conn, err := c.accept(accepted)
			if conn == nil {
				return err
			}
			c.members.Go(func() { c.serve(conn, nil) })
		}
	})
}

// runPool runs Pool.
//
// Ownership: each of o.Width workers accepts for itself and serves one connection to its end, so
// there is no queue between accepting and serving: connections beyond the pool wait in the kernel's
// backlog, where the peer sees them connected and unanswered. A lingering close has a goroutine of
// its own.
//
// Stop: see crowd.
func runPool(ctx context.Context, l net.Listener, w work, o Options) error {
	setDefault(&o.Width, 256)
	c := newCrowd(l, w, o)
	c.pooled = true
	return c.run(ctx, func() error {
		errs := make(chan error, o.Width) // workers -> here, one each; never closed
		for range o.Width {
			c.hire(errs)
		}
		for range o.Width {
			if err := <-errs; err != nil {
				return err // the others will find the same
			}
		}
		return nil
	})
}

// crowd is the connections that have goroutines of their own.
//
// Stop: the listener is closed; reads give what has arrived and then ErrStopped; whoever has
// finished leaves; at Options.Drain the connections that are left are closed, and Run returns
// ErrDeadline without waiting for those whose handlers do something else than use their connection.
// Lingering closes are cut short then, which is no error.
type crowd struct {
	l       net.Listener
	work    work
	o       Options
	members sync.WaitGroup // the goroutines that serve
	stopc   chan struct{}  // closed by the stop
	pooled  bool           // workers serve one connection after the other

	mu        sync.Mutex
	open      map[*stream]struct{}
	lingering list.List // of *stream, the oldest first
	stopping  bool
	moving    bool // with stopping: it hands over
}

func newCrowd(l net.Listener, w work, o Options) *crowd {
	return &crowd{l: l, work: w, o: o, stopc: make(chan struct{}), open: make(map[*stream]struct{})}
}

// run accepts by accept, which returns when the listener is closed, until ctx ends, and then stops.
func (c *crowd) run(ctx context.Context, accept func() error) error {
	failedc := make(chan error, 1) // accept -> here, once
	c.members.Go(func() {
		err := ErrGoexit // by the listener
		defer func() { failedc <- err }()
		err = accept()
	})
	var failed error
	select {
	case failed = <-failedc:
	case <-ctx.Done():
	}
	c.stop(handsOver(ctx, c.o))
	gonec := make(chan struct{}) // closed when all have gone
	go func() { c.members.Wait(); close(gonec) }()
	drained := time.NewTimer(c.o.Drain)
	defer drained.Stop()
	select {
	case <-gonec:
		return failed
	case <-drained.C:
	}
	return errors.Join(failed, c.end(gonec))
}

// grace is how long handlers may take to return once their connection was closed under them.
const grace = 100 * time.Millisecond

// end closes what is left at the deadline.
func (c *crowd) end(gonec <-chan struct{}) error {
	late := false // a connection is there that lingers for nothing
	c.mu.Lock()
	for s := range c.open {
		late = late || !s.ended.Load()
		s.cut()
	}
	c.mu.Unlock()
	select {
	case <-gonec:
	case <-time.After(grace):
		late = true
	}
	if !late {
		return nil
	}
	return ErrDeadline
}

func (c *crowd) stop(move bool) {
	c.l.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping, c.moving = true, move
	close(c.stopc)
	for s := range c.open {
		s.stop(move)
	}
}

// accept returns the next connection; nil when the listener has failed, or, without an error, on a
// stop.
func (c *crowd) accept(n *lane) (net.Conn, error) {
	for strays := 0; ; {
		conn, err := c.l.Accept()
		if err == nil {
			return conn, nil
		}
		select {
		case <-c.stopc:
			return nil, nil
		default:
		}
		switch judge(err) {
		case acceptFailed:
			return nil, err
		case acceptLater:
			if c.cutLingering() {
				continue
			}
		case acceptAgain:
			if strays++; strays < acceptsPerTurn {
				continue
			}
		}
		strays = 0
		n.pauses.add(1)
		select {
		case <-c.stopc:
		case <-time.After(acceptPause):
		}
	}
}

// hire starts a worker of a pool, and another in its place should a handler end its goroutine.
func (c *crowd) hire(errs chan<- error) {
	c.members.Go(func() {
		returned := false
		defer func() {
			if !returned {
				c.hire(errs)
			}
		}()
		err := c.labour()
		returned = true
		errs <- err
	})
}

// labour is a worker of a pool: it serves one connection after the other.
func (c *crowd) labour() error {
	n := c.o.Meter.lane()
	defer c.o.Meter.retire(n)
	for m := c.work.arrivals.next(); m != nil; m = c.work.arrivals.next() {
		c.adopt(m)
	}
	for {
		conn, err := c.accept(n)
		if conn == nil {
			return err
		}
		c.serve(conn, nil)
	}
}

// adopt serves a connection that was handed over.
func (c *crowd) adopt(m *Moved) {
	if conn, err := m.conn(); err == nil { // or there is no descriptor for it
		c.serve(conn, m)
	}
}

// serve is one connection, from its begin to its end. Moved is nil for one that was accepted.
func (c *crowd) serve(conn net.Conn, m *Moved) {
	n := c.o.Meter.lane()
	n.accepted.add(1)
	s := newStream(conn, n, &c.o)
	c.enter(s)
	s.output.Store(m != nil) // by the run that handed it over
	awake := s.watchIdle(c.o.Idle)
	defer func() {
		awake()
		s.ended.Store(true)
		if c.pooled && s.output.Load() && !s.over.Load() {
			c.members.Go(func() { c.finish(s) }) // which may take its time
			return
		}
		c.finish(s)
	}()
	if c.work.handle == nil {
		containPanic(c.o, n, s.RemoteAddr(), func() { hostSession(&c.work, &c.o, n, m)(s) })
		return
	}
	contain(c.o, n, s.RemoteAddr(), func() error { c.work.handle(s); return nil })
}

func (c *crowd) enter(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[s] = struct{}{}
	if c.stopping {
		s.stop(c.moving)
	}
}

// finish ends a connection whose handler has returned.
func (c *crowd) finish(s *stream) {
	place := c.linger(s)
	s.finish()
	c.mu.Lock()
	delete(c.open, s)
	if place != nil {
		c.lingering.Remove(place)
	}
	c.mu.Unlock()
	s.lane.closed.add(1)
	c.o.Meter.retire(s.lane)
}

// linger notes that a connection lingers, if it does, at the cost of the oldest where there are too
// many.
func (c *crowd) linger(s *stream) *list.Element {
	if !s.half() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	place := c.lingering.PushBack(s)
	if c.lingering.Len() > lingerMost {
		c.cutOldest()
	}
	return place
}

// cutOldest ends the lingering close that began first. The caller holds mu.
func (c *crowd) cutOldest() {
	c.lingering.Remove(c.lingering.Front()).(*stream).cut()
}

// cutLingering ends all lingering closes, whose descriptors are wanted, and reports whether there
// were any.
func (c *crowd) cutLingering() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	some := c.lingering.Len() > 0
	for c.lingering.Len() > 0 {
		c.cutOldest()
	}
	return some
}
