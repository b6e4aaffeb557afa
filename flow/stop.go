package flow

import (
	"sync"
	"time"
)

// poll is how often a stop looks whether everything has passed through.
const poll = time.Millisecond

// start runs the workers, and returns what is closed when all have ended.
func (n *Net[T]) start(workers []*worker[T]) (ended <-chan struct{}) {
	var group sync.WaitGroup
	for _, w := range workers {
		group.Go(w.run)
	}
	all := make(chan struct{})
	go func() { group.Wait(); close(all) }() // ends with the last worker
	return all
}

// stop ends the run: no more Put, callers home, everything through, workers ended. See the package's comment.
func (n *Net[T]) stop(ended <-chan struct{}) error {
	n.shut.Store(true)
	defer n.setEnded()
	deadline := time.Now().Add(n.drain)
	through := n.await(deadline, func() bool { return n.home() && (n.way == Chain || n.quiet()) })
	n.over.Store(true)
	close(n.done)
	if through {
		<-ended // every worker is idle
		return nil
	}
	n.await(time.Now().Add(n.drain/4), func() bool { return n.home() && closed(ended) })
	return ErrDeadline
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (n *Net[T]) setEnded() {
	n.mu.Lock()
	n.state = ended
	n.mu.Unlock()
}

// await polls until what it waits for is so, or the deadline has passed.
func (n *Net[T]) await(deadline time.Time, so func() bool) bool {
	for !so() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(poll)
	}
	return true
}

// home says whether every caller of Put has returned.
func (n *Net[T]) home() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gather()
	return len(n.rest) == n.walks
}

// gather takes the spare walk to the others at rest and shows their counters. The caller holds the lock.
func (n *Net[T]) gather() {
	if w := n.spare.Swap(nil); w != nil {
		n.rest = append(n.rest, w)
	}
	for _, w := range n.rest {
		w.lane.show(w.rows)
	}
}

// quiet says whether every edge's receiver is done with all that the edge took. The receivers are read first: what
// is sent after that was sent by one that is not done yet, and so by an edge that is not even.
func (n *Net[T]) quiet() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	done := n.sum(taken)
	for i, v := range n.sum(sent) {
		if done[i] != v {
			return false
		}
	}
	return true
}

// sum adds up one count of every edge over the lanes. The caller holds the lock.
func (n *Net[T]) sum(what int) []uint64 {
	total := make([]uint64, len(n.edges))
	for _, l := range n.lanes {
		for i := range total {
			total[i] += l.shown[len(n.stages)+i][what].Load()
		}
	}
	return total
}
