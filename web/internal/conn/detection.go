package conn

import (
	"os"
	"sync"
	"time"
)

// detectionDelay is how long a handler works before its connection is read to detect that the
// client disconnects.
const detectionDelay = 50 * time.Millisecond

// abort is the deadline by which net/http interrupts the read that it has started for the time of a
// handler. If it were another value, the interrupt would take detectionDelay.
var abort = time.Unix(1, 0)

// disconnectDetection delays how net/http detects that a client disconnects: while a handler works,
// a goroutine of net/http reads a single byte, and a deadline in the past interrupts it when the
// handler is done. Most handlers are done before that goroutine has run, so the read starts after
// detectionDelay, and an interrupt before that costs the network poller nothing.
type disconnectDetection struct {
	mu      sync.Mutex // guards what follows
	aborted bool       // the deadline is abort, but the lower connection's is not
	// a read of the lower connection is under way, which a deadline must reach
	reading bool
	// carries no values; closed by SetReadDeadline; nil: no read is delayed
	waiting chan struct{}
}

// delay waits until the byte may be read, or a deadline is set.
func (l *disconnectDetection) delay() {
	l.mu.Lock()
	if l.aborted {
		l.mu.Unlock()
		return
	}
	deadline := make(chan struct{})
	l.waiting = deadline
	l.mu.Unlock()
	late := time.NewTimer(detectionDelay)
	defer late.Stop()
	select {
	case <-deadline:
	case <-late.C:
	}
}

// start is called before the lower connection is read, end after it.
func (l *disconnectDetection) start() (err error) {
	l.mu.Lock()
	l.waiting = nil
	if l.aborted {
		err = os.ErrDeadlineExceeded
	} else {
		l.reading = true
	}
	l.mu.Unlock()
	return err
}

func (l *disconnectDetection) end() {
	l.mu.Lock()
	l.reading = false
	l.mu.Unlock()
}

// setDeadline notes a deadline. It reports whether the lower connection needs no change.
func (l *disconnectDetection) setDeadline(t time.Time) (isDone bool) {
	l.mu.Lock()
	if l.waiting != nil {
		close(l.waiting)
		l.waiting = nil
	}
	isDone = !l.reading && t.Equal(abort)
	l.aborted = isDone
	l.mu.Unlock()
	return isDone
}
