package tcp

import "time"

// Time is a time on the driver's clock, in ns. Zero means none, so the driver's clock must start
// above it. A connection's time never goes back: see Conn.setNow.
type Time int64

// Add returns the time d later.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns the duration t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// earlier returns the earlier of two times; a time of zero is none.
func earlier(t, u Time) Time {
	if t == 0 || u != 0 && u < t {
		return u
	}
	return t
}

// due reports whether a time is set and has come.
func (t Time) due(now Time) bool { return t != 0 && t <= now }
