package conn

import (
	"os"
	"sync"
	"time"
)

// patience is how long a handler works before its connection is read for a client that goes away.
const patience = 50 * time.Millisecond

// abort is the deadline by which net/http calls back the read that it began for the time of a
// handler. Another value would do as well, but sooner or later by patience.
var abort = time.Unix(1, 0)

// listening is net/http's way of seeing a client go away: while a handler works it has a goroutine
// read a single byte, which it calls back by a deadline in the past when the handler is done. Most
// handlers are done before that goroutine has run at all, so the read is put off for patience, and
// calling it back costs the network poller nothing.
type listening struct {
	mu      sync.Mutex
	aborted bool // the deadline is abort, though the connection below was not told
	// a read of the connection below is under way, which a deadline must reach
	reading bool
	// no values, closed by whoever sets a deadline; nil when no read is put off
	waiting chan struct{}
}

// putOff waits until the byte may be read, or a deadline is set.
func (l *listening) putOff() {
	l.mu.Lock()
	if l.aborted {
		l.mu.Unlock()
		return
	}
	deadline := make(chan struct{})
	l.waiting = deadline
	l.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-deadline:
	case <-late.C:
	}
}

// begin is called before the connection below is read, end after it.
func (l *listening) begin() (err error) {
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

func (l *listening) end() {
	l.mu.Lock()
	l.reading = false
	l.mu.Unlock()
}

// deadline takes note of one, and says whether that was all: the connection below need not know.
func (l *listening) deadline(t time.Time) (known bool) {
	l.mu.Lock()
	if l.waiting != nil {
		close(l.waiting)
		l.waiting = nil
	}
	known = !l.reading && t.Equal(abort)
	l.aborted = known
	l.mu.Unlock()
	return known
}
