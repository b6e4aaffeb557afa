package tcpip

import (
	"net"
	"os"
	"sync"
	"time"
)

// waiter is where an application waits for one direction of something: for data, or for room.
type waiter struct {
	busy sync.Mutex // one call at a time
	// the stack, deadlines and Close -> who waits: look again; capacity 1, never closed
	signal chan struct{}

	// Guarded by the owner's lock.
	deadline time.Time
	// of a read that waits: the reader's goroutine copies there what comes, straight from its
	// packet
	into []byte
	got  int // how much it has, which the read has not seen yet
}

func newWaiter() waiter { return waiter{signal: make(chan struct{}, 1)} }

// arm makes a waiter that was not made by newWaiter ready for a wait: many a connection never has
// one. The owner's lock is held.
func (w *waiter) arm() {
	if w.signal == nil {
		w.signal = make(chan struct{}, 1)
	}
}

// wake has who waits look again. Where arm is used, the owner's lock is held.
func (w *waiter) wake() {
	select { // which nobody's channel, nil, passes by
	case w.signal <- struct{}{}:
	default:
	}
}

// late says whether the deadline has passed.
func (w *waiter) late() bool { return !w.deadline.IsZero() && !time.Now().Before(w.deadline) }

// wait waits until something happens, the deadline included, which is as the owner's lock gave it.
func (w *waiter) wait(deadline time.Time) {
	if deadline.IsZero() {
		<-w.signal
		return
	}
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case <-w.signal:
	case <-t.C:
	}
}

// refusal is why a call cannot go on, if it cannot.
func (w *waiter) refusal(closed bool) error {
	switch {
	case closed:
		return net.ErrClosed
	case w.late():
		return os.ErrDeadlineExceeded
	}
	return nil
}
