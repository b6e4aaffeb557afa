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
// called Run accepts. When descriptors run out, accepting pauses. The only queues are those of
// Conn.Send.
//
// Stop: see blockingServer.
func runGoroutines(ctx context.Context, l net.Listener, w serviceForm, o Options) error {
	c := newBlockingServer(l, w, o)
	return c.run(ctx, func() error {
		accepted := o.Meter.newShard()
		defer o.Meter.retire(accepted)
		for m := w.adoptions.next(); m != nil; m = w.adoptions.next() {
			c.serving.Go(func() { c.adopt(m) })
		}
		for {
			conn, err := c.accept(accepted)
			if conn == nil {
				return err
			}
			c.serving.Go(func() { c.serve(conn, nil) })
		}
	})
}

// runPool runs Pool.
//
// Ownership: each of o.Workers workers accepts for itself and serves one connection to its end, so
// there is no queue between accepting and serving. Connections beyond the pool wait in the kernel's
// accept queue: they are established and get no answer yet. A lingering close has a goroutine of
// its own.
//
// Stop: see blockingServer.
func runPool(ctx context.Context, l net.Listener, w serviceForm, o Options) error {
	setDefault(&o.Workers, 256)
	c := newBlockingServer(l, w, o)
	c.pooled = true
	return c.run(ctx, func() error {
		errs := make(chan error, o.Workers) // workers -> here, one result each; never closed
		for range o.Workers {
			c.startWorker(errs)
		}
		for range o.Workers {
			if err := <-errs; err != nil {
				return err // the other workers will see the same error
			}
		}
		return nil
	})
}

// blockingServer serves each connection by a goroutine of its own that blocks on it.
//
// Stop: the listener is closed, and reads return what has arrived and then ErrStopped. At
// Options.DrainTimeout the connections that are left are closed. Run then returns ErrDeadline
// without waiting for handlers that do something else than use their connection. Lingering closes
// are cut short at that time, which is no error.
type blockingServer struct {
	listener net.Listener
	service  serviceForm
	options  Options
	serving  sync.WaitGroup // the goroutines that serve connections
	stopc    chan struct{}  // closed by the stop
	pooled   bool           // workers serve one connection after the other (Pool)

	mu          sync.Mutex
	streams     map[*stream]struct{}
	lingering   list.List // of *stream, the oldest first
	stopping    bool
	handingOver bool // with stopping: it hands over
}

func newBlockingServer(l net.Listener, w serviceForm, o Options) *blockingServer {
	return &blockingServer{listener: l, service: w, options: o, stopc: make(chan struct{}), streams: make(map[*stream]struct{})}
}

// run calls accept, which returns when the listener is closed, until ctx ends. It then stops.
func (c *blockingServer) run(ctx context.Context, accept func() error) error {
	failedc := make(chan error, 1) // accept -> here, one result
	c.serving.Go(func() {
		err := ErrGoexit // if the listener's Accept calls Goexit
		defer func() { failedc <- err }()
		err = accept()
	})
	failed := awaitEnd(ctx, failedc)
	c.stop(handsOver(ctx, c.options))
	gonec := make(chan struct{}) // closed when all goroutines have ended
	go func() { c.serving.Wait(); close(gonec) }()
	drained := time.NewTimer(c.options.DrainTimeout)
	defer drained.Stop()
	select {
	case <-gonec:
		return failed
	case <-drained.C:
	}
	return errors.Join(failed, c.closeRemaining(gonec))
}

// grace is how long handlers may take to return after their connection was closed.
const grace = 100 * time.Millisecond

// awaitEnd waits until ctx ends or accepting fails. It returns the failure. Its timer keeps the
// runtime's monitor thread alive: see directIO.
func awaitEnd(ctx context.Context, failedc <-chan error) error {
	preempting := time.NewTicker(preemptEvery)
	defer preempting.Stop()
	for {
		select {
		case err := <-failedc:
			return err
		case <-ctx.Done():
			return nil
		case <-preempting.C:
		}
	}
}

// preemptEvery is how often the process has a timer that expires.
const preemptEvery = 100 * time.Millisecond

// closeRemaining closes the connections that are left at the deadline.
func (c *blockingServer) closeRemaining(gonec <-chan struct{}) error {
	late := false // some connection is not in its lingering close
	c.mu.Lock()
	for s := range c.streams {
		late = late || !s.ended.Load()
		s.closeNow()
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

func (c *blockingServer) stop(move bool) {
	c.listener.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping, c.handingOver = true, move
	close(c.stopc)
	for s := range c.streams {
		s.stop(move)
	}
}

// accept returns the next connection. It returns nil with an error if the listener has failed, and
// nil without an error at a stop.
func (c *blockingServer) accept(n *counterShard) (net.Conn, error) {
	for strays := 0; ; {
		conn, err := c.listener.Accept()
		if err == nil {
			return conn, nil
		}
		select {
		case <-c.stopc:
			return nil, nil
		default:
		}
		switch classifyAcceptError(err) {
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
		n.acceptPauses.add(1)
		select {
		case <-c.stopc:
		case <-time.After(acceptPause):
		}
	}
}

// startWorker starts a worker of a pool, and another in its place if a handler ends its goroutine.
func (c *blockingServer) startWorker(errs chan<- error) {
	c.serving.Go(func() {
		returned := false
		defer func() {
			if !returned {
				c.startWorker(errs)
			}
		}()
		err := c.runWorker()
		returned = true
		errs <- err
	})
}

// runWorker is a worker of a pool: it serves one connection after the other.
func (c *blockingServer) runWorker() error {
	n := c.options.Meter.newShard()
	defer c.options.Meter.retire(n)
	for m := c.service.adoptions.next(); m != nil; m = c.service.adoptions.next() {
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
func (c *blockingServer) adopt(m *MovedConn) {
	if conn, err := m.conn(); err == nil { // an error means that no descriptor is free
		c.serve(conn, m)
	}
}

// serve runs one connection from its start to its end. m is nil for an accepted connection.
func (c *blockingServer) serve(conn net.Conn, m *MovedConn) {
	n := c.options.Meter.newShard()
	n.accepted.add(1)
	s := newStream(conn, n, &c.options)
	c.register(s)
	s.hasOutput.Store(m != nil) // the run that handed it over may have written
	awake := s.watchIdle(c.options.IdleTimeout)
	defer func() {
		awake()
		s.ended.Store(true)
		if c.pooled && s.hasOutput.Load() && !s.noLinger.Load() {
			c.serving.Go(func() { c.finish(s) }) // it may take up to LingerTimeout
			return
		}
		c.finish(s)
	}()
	if c.service.open != nil {
		containPanic(c.options, n, s.RemoteAddr(), func() { hostSession(&c.service, &c.options, n, m)(s) })
		return
	}
	handle, open := c.service.handle, c.service.respond
	if handle == nil {
		handle = func(c net.Conn) { respondTurns(open, c) }
	}
	contain(c.options, n, s.RemoteAddr(), func() error { handle(s); return nil })
}

func (c *blockingServer) register(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams[s] = struct{}{}
	if c.stopping {
		s.stop(c.handingOver)
	}
}

// finish closes a connection whose handler has returned.
func (c *blockingServer) finish(s *stream) {
	place := c.trackLingering(s)
	s.finish()
	c.mu.Lock()
	delete(c.streams, s)
	if place != nil {
		c.lingering.Remove(place)
	}
	c.mu.Unlock()
	s.counters.closed.add(1)
	c.options.Meter.retire(s.counters)
}

// trackLingering registers a connection's lingering close, if it needs one. Beyond maxLingering it
// cuts the oldest short.
func (c *blockingServer) trackLingering(s *stream) *list.Element {
	if !s.shutdownWrite() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	place := c.lingering.PushBack(s)
	if c.lingering.Len() > maxLingering {
		c.cutOldestLocked()
	}
	return place
}

// cutOldestLocked ends the lingering close that started first. The caller holds mu.
func (c *blockingServer) cutOldestLocked() {
	c.lingering.Remove(c.lingering.Front()).(*stream).closeNow()
}

// cutLingering ends all lingering closes to free their descriptors, and reports whether there were
// any.
func (c *blockingServer) cutLingering() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	some := c.lingering.Len() > 0
	for c.lingering.Len() > 0 {
		c.cutOldestLocked()
	}
	return some
}
