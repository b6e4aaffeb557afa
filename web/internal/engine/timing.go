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
	armed time.Time // the deadline that the connection has, unless stale; zero: none
	own   time.Time // the server's limit; zero: none

	// Any goroutine may set what follows.
	handler atomic.Int64 // the handler's limit, in nanoseconds since 1970; 0: none
	stale   atomic.Bool  // the deadline must be set again: the connection may have another one
}

// setHandler sets the handler's limit. The caller then interrupts a read that is under way.
func (t *timing) setHandler(limit time.Time) {
	nanoseconds := int64(0)
	if !limit.IsZero() {
		nanoseconds = max(1, limit.UnixNano())
	}
	t.handler.Store(nanoseconds)
	t.stale.Store(true)
}

// clearHandler removes the handler's limit.
func (t *timing) clearHandler() {
	if t.handler.Swap(0) != 0 {
		t.stale.Store(true)
	}
}

// limit makes the server's limit d from now; 0 means none.
func (t *timing) limit(now time.Time, d time.Duration) {
	t.own = time.Time{}
	if d > 0 {
		t.own = now.Add(d)
	}
}

// until returns the earlier of both limits; zero: there is none.
func (t *timing) until() time.Time {
	if h := t.handler.Load(); h > 0 && (t.own.IsZero() || h < t.own.UnixNano()) {
		return time.Unix(0, h)
	}
	return t.own
}

// arm is called before a read. It sets the connection's deadline if that is missing or too late.
func (t *timing) arm(set func(time.Time) error) error {
	until := t.until()
	if !t.stale.Load() && (t.armed.Equal(until) || !t.armed.IsZero() && !until.IsZero() && t.armed.Before(until)) {
		return nil
	}
	for {
		t.stale.Store(false)
		t.armed = t.until()
		if err := set(t.armed); err != nil || !t.stale.Load() {
			return err
		}
	}
}

// again reports whether a read that has failed with err must be repeated, because the deadline that
// passed was an older one, or one that was set to interrupt it.
func (t *timing) again(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	t.stale.Store(true)
	until := t.until()
	return until.IsZero() || time.Now().Before(until)
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
