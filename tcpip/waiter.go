package tcpip

import (
	"net"
	"os"
	"sync"
	"time"
)

// waiter is where a call of the application waits for one direction of a connection or socket: for
// data, or for buffer space.
type waiter struct {
	callMu sync.Mutex // held by a call: one at a time
	// the stack, deadlines and Close -> the waiting call: check again; capacity 1, never closed
	signal chan struct{}

	// Guarded by the owner's lock.
	deadline time.Time
	// buffer of a waiting read: the reader's goroutine copies received data there, straight from
	// its packet
	readBuf   []byte
	readCount int // bytes in readBuf that the read has not returned yet
}

func newWaiter() waiter { return waiter{signal: make(chan struct{}, 1)} }

// armLocked makes the channel of a waiter that newWaiter did not make: many connections never wait.
// The caller holds the owner's lock.
func (w *waiter) armLocked() {
	if w.signal == nil {
		w.signal = make(chan struct{}, 1)
	}
}

// wake has the waiting call check again. If armLocked is used, the owner's lock is held.
func (w *waiter) wake() {
	select { // a nil channel, without a waiting call, takes the default
	case w.signal <- struct{}{}:
	default:
	}
}

// deadlinePassed reports whether the deadline has passed.
func (w *waiter) deadlinePassed() bool { return !w.deadline.IsZero() && !time.Now().Before(w.deadline) }

// wait waits until wake is called, or until deadline, a copy taken under the owner's lock.
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

// stopReason returns why a call cannot go on; nil: it can.
func (w *waiter) stopReason(closed bool) error {
	switch {
	case closed:
		return net.ErrClosed
	case w.deadlinePassed():
		return os.ErrDeadlineExceeded
	}
	return nil
}
