package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/flow/internal/ring"
)

// pollInterval is how often a stop checks whether everything has passed through.
const pollInterval = time.Millisecond

// Run runs the net until ctx ends and everything under way has passed through, or the drain time
// has passed since. A net runs once.
func (n *Net[T]) Run(ctx context.Context, way Way) error {
	if err := n.Start(way); err != nil {
		return err
	}
	<-ctx.Done()
	return n.Stop()
}

// Start is the first half of Run: when it returns, Put takes items. [Net.Stop] must follow.
func (n *Net[T]) Start(way Way) error {
	names := n.cycle(func(*edge[T]) bool { return true })
	switch {
	case way != Chain && way != Network:
		return fmt.Errorf("flow: %q is no concurrency model: choose %s or %s", way, Chain, Network)
	case way == Chain && names != "":
		return fmt.Errorf("flow: %s is a cycle, which a chain of calls would follow for ever: run it as a network", names)
	case !n.start(way):
		return errors.New("flow: a net runs once: build another")
	}
	return nil
}

// Stop is the second half of Run: it returns when everything under way has passed through, or the
// drain time has passed. Further calls wait for the first, and return the same. On a net that does
// not run it does nothing.
func (n *Net[T]) Stop() error {
	n.mu.Lock()
	first, began := n.accepting, n.way != ""
	n.accepting = false
	n.mu.Unlock()
	switch {
	case first:
		n.stopErr = n.stop()
		close(n.stoppedc)
	case !began:
		return nil
	}
	<-n.stoppedc
	return n.stopErr
}

// start makes the queues or limits of the model, starts the workers and lets Put take items. It
// reports whether it did: not if the net was started before.
func (n *Net[T]) start(way Way) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.way != "" {
		return false
	}
	n.way, n.accepting = way, true
	for _, s := range n.nodes[1:] {
		if way == Network {
			s.queue = ring.New[queuedBatch[T]](s.queueSize, s.senders > 1, s.Width > 1)
			n.splitRoom(s)
			for range max(1, s.Width) {
				n.workers++
				go n.newOwnerLocked(s).work()
			}
		} else if s.Width > 0 {
			s.Do = n.limitWidth(s.Stage)
		}
	}
	return true
}

// limitWidth wraps the Do of a stage by Chain so that at most Width calls run at once.
func (n *Net[T]) limitWidth(s Stage[T]) func([]T, *Out[T]) {
	// a call sends when it starts and receives when it ends; never closed
	seats := make(chan struct{}, s.Width)
	return func(in []T, out *Out[T]) {
		before := out.owner.clock.charge(nil)
		select {
		case seats <- struct{}{}:
		case <-n.deadlinec:
			n.fail(in, ErrStopped)
			return
		}
		defer func() { <-seats }()
		out.owner.clock.charge(before)
		s.Do(in, out)
	}
}

// stop ends the run after Put has stopped taking items: callers of Put return, everything passes
// through, workers end. See the package's comment.
func (n *Net[T]) stop() (late error) {
	if !n.await(n.drainTime, n.quietLocked) {
		late = ErrDeadline
	}
	close(n.deadlinec)
	for _, s := range n.nodes {
		if s.queue != nil {
			for _, p := range s.queue.Close() {
				n.fail(p.items, ErrStopped)
			}
		}
	}
	n.await(n.drainTime/4, func() bool { return len(n.idleOwners) == len(n.owners) })
	return late
}

// await polls cond, under the lock, until it is true or the time has passed. It reports whether it
// was true.
func (n *Net[T]) await(long time.Duration, so func() bool) bool {
	for deadline := time.Now().Add(long); ; time.Sleep(pollInterval) {
		n.mu.Lock()
		done := so()
		n.mu.Unlock()
		if done || time.Now().After(deadline) {
			return done
		}
	}
}

// quietLocked reports whether every caller of Put has returned and every edge's receiver has
// handled all items that the edge took. The receivers are read first: an item that is sent after
// that comes from a receiver that is not done, so that its edge's sums differ. The caller holds the
// lock.
func (n *Net[T]) quietLocked() bool {
	before, after := n.totalsLocked(), n.totalsLocked()
	for _, e := range n.edges {
		if before[e.row][edgeHandled] != after[e.row][edgeSent] {
			return false
		}
	}
	return len(n.idleOwners)+n.workers == len(n.owners)
}
