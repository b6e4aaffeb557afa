package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/flow/internal/ring"
)

// poll is how often a stop looks whether everything has passed through.
const poll = time.Millisecond

// Run runs the net until ctx ends and all that was under way has passed through, or the drain time
// has passed since. A net runs once.
func (n *Net[T]) Run(ctx context.Context, way Way) error {
	if err := n.Start(way); err != nil {
		return err
	}
	<-ctx.Done()
	return n.Stop()
}

// Start is the begin of Run, for who has no goroutine to wait in: when it returns, Put takes items.
// [Net.Stop] is to follow.
func (n *Net[T]) Start(way Way) error {
	names := n.cycle(func(*edge[T]) bool { return true })
	switch {
	case way != Chain && way != Network:
		return fmt.Errorf("flow: %q is no way to run a net: choose %s or %s", way, Chain, Network)
	case way == Chain && names != "":
		return fmt.Errorf("flow: %s is a cycle, which a chain of calls would follow for ever: run it as a network", names)
	case !n.begin(way):
		return errors.New("flow: a net runs once: build another")
	}
	return nil
}

// Stop is the end of Run: it returns when all that was under way has passed through, or the drain
// time has passed. Further calls wait for the first, and return the same. Of a net that does not
// run it does nothing.
func (n *Net[T]) Stop() error {
	n.mu.Lock()
	first, began := n.open, n.way != ""
	n.open = false
	n.mu.Unlock()
	switch {
	case first:
		n.err = n.stop()
		close(n.stopped)
	case !began:
		return nil
	}
	<-n.stopped
	return n.err
}

// begin makes what the way needs, starts the workers and opens the net. It reports false when that
// was done before.
func (n *Net[T]) begin(way Way) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.way != "" {
		return false
	}
	n.way, n.open = way, true
	for _, s := range n.nodes[1:] {
		if way == Network {
			s.queue = ring.New[parcel[T]](s.room, s.senders > 1, s.Width > 1)
			n.part(s)
			for range max(1, s.Width) {
				n.workers++
				go n.newOwner(s).work()
			}
		} else if s.Width > 0 {
			s.Do = n.limited(s.Stage)
		}
	}
	return true
}

// limited is the Do of a stage by Chain that lets Width calls in at once.
func (n *Net[T]) limited(s Stage[T]) func([]T, *Out[T]) {
	// from the call that enters -> to itself when it leaves; never closed
	seats := make(chan struct{}, s.Width)
	return func(in []T, out *Out[T]) {
		before := out.owner.clock.charge(nil)
		select {
		case seats <- struct{}{}:
		case <-n.done:
			n.fail(in, ErrStopped)
			return
		}
		defer func() { <-seats }()
		out.owner.clock.charge(before)
		s.Do(in, out)
	}
}

// stop ends the run, now that Put takes nothing any more: callers home, everything through, workers
// ended. See the package's comment.
func (n *Net[T]) stop() (late error) {
	if !n.await(n.drain, n.quiet) {
		late = ErrDeadline
	}
	close(n.done)
	for _, s := range n.nodes {
		if s.queue != nil {
			for _, p := range s.queue.Close() {
				n.fail(p.items, ErrStopped)
			}
		}
	}
	n.await(n.drain/4, func() bool { return len(n.rest) == len(n.owners) })
	return late
}

// await polls until what it waits for is so, or the time has passed. It asks under the lock.
func (n *Net[T]) await(long time.Duration, so func() bool) bool {
	for deadline := time.Now().Add(long); ; time.Sleep(poll) {
		n.mu.Lock()
		done := so()
		n.mu.Unlock()
		if done || time.Now().After(deadline) {
			return done
		}
	}
}

// quiet says whether every caller of Put has come home, and every edge's receiver is done with all
// that the edge took. The receivers are read first: what is sent after that was sent by one that is
// not done yet, and so by an edge that is not even. The caller holds the lock.
func (n *Net[T]) quiet() bool {
	before, after := n.total(), n.total()
	for _, e := range n.edges {
		if before[e.row][taken] != after[e.row][sent] {
			return false
		}
	}
	return len(n.rest)+n.workers == len(n.owners)
}
