package engine

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

// timing sets the read deadlines of a connection. Setting one costs a timer, so a deadline that
// comes too early is left in place: when it passes, it is set again.
type timing struct {
	armed time.Time // the deadline that the connection has; zero: none
	until time.Time // the deadline that is meant; zero: none
	// as the handler has set it for its exchange, in nanoseconds since 1970; 0: none
	handler atomic.Int64
}

// setHandler sets the handler's deadline. Any goroutine may call it.
func (t *timing) setHandler(deadline time.Time) {
	t.handler.Store(0)
	if !deadline.IsZero() {
		t.handler.Store(max(1, deadline.UnixNano()))
	}
}

// limit makes the deadline d from now; 0 means none.
func (t *timing) limit(now time.Time, d time.Duration) {
	t.until = time.Time{}
	if d > 0 {
		t.until = now.Add(d)
	}
	if handler := t.handler.Load(); handler > 0 && (t.until.IsZero() || handler < t.until.UnixNano()) {
		t.until = time.Unix(0, handler)
	}
}

// arm is called before a read. It sets the connection's deadline if that is missing or too
// late.
func (t *timing) arm(set func(time.Time) error) error {
	if t.armed.Equal(t.until) || !t.armed.IsZero() && !t.until.IsZero() && t.armed.Before(t.until) {
		return nil
	}
	t.armed = t.until
	return set(t.until)
}

// again reports whether a read that has failed with err must be repeated, because the
// deadline that passed was an older one.
func (t *timing) again(err error, now time.Time) bool {
	handler := t.handler.Load()
	if !errors.Is(err, os.ErrDeadlineExceeded) || t.armed.IsZero() || now.Before(t.armed) || handler > 0 && handler <= now.UnixNano() {
		return false
	}
	t.armed = time.Time{}
	return t.until.IsZero() || now.Before(t.until)
}

// progress is what a client has sent of a request's content, and how long the server has waited for
// it.
type progress struct {
	bytes  int64
	waited time.Duration
}

// left returns how long the server still waits: the client may take SlowTransferGrace, or longer if
// its bytes come at MinRate. 0 means that there is no limit.
func (p *progress) left(c *Config) time.Duration {
	if c.SlowTransferGrace <= 0 {
		return 0
	}
	allowed := c.SlowTransferGrace
	if c.MinRate > 0 {
		allowed = max(allowed, time.Duration(float64(p.bytes)/float64(c.MinRate)*1e9))
	}
	return max(1, allowed-p.waited)
}
