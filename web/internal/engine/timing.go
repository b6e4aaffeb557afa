package engine

import (
	"errors"
	"os"
	"time"
)

// timing sets read deadlines of a connection. Setting one costs a timer, so a deadline that comes
// too early is left in place: when it passes, it is set again.
type timing struct {
	armed time.Time // the deadline that the connection has; zero: none
	until time.Time // the deadline that is meant; zero: none
}

// limit makes the deadline d from now; 0 means none.
func (t *timing) limit(now time.Time, d time.Duration) {
	t.until = time.Time{}
	if d > 0 {
		t.until = now.Add(d)
	}
}

// arm is called before a read. It sets the connection's deadline if that is missing or too late.
func (t *timing) arm(set func(time.Time) error) error {
	if t.armed.Equal(t.until) || !t.armed.IsZero() && !t.until.IsZero() && t.armed.Before(t.until) {
		return nil
	}
	t.armed = t.until
	return set(t.until)
}

// again reports whether a read that has failed with err must be repeated, because the deadline that
// passed was an older one.
func (t *timing) again(err error, now time.Time) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || t.armed.IsZero() || now.Before(t.armed) {
		return false
	}
	t.armed = time.Time{}
	return t.until.IsZero() || now.Before(t.until)
}
