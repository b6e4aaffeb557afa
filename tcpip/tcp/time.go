package tcp

import "time"

// Time is a moment on an axis of the driver's, in ns. For a connection it never goes back: of two
// calls the later has the time of the earlier one at least. Zero is no moment: a driver's axis
// begins later.
type Time int64

// Add is the moment so much later.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub is the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// sooner is the earlier of two moments that there are.
func earlier(t, u Time) Time {
	if t == 0 || u != 0 && u < t {
		return u
	}
	return t
}

// due says whether a moment, if it is one, has come.
func (t Time) due(now Time) bool { return t != 0 && t <= now }
