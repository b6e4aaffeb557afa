// Package raw is what a generator's locked thread stands on: the clock, reads and writes that the
// Go runtime does not hear of, the process's settings, and connections.
//
// A thread that waits raw must pass PausePoint after each wait, and Settle must be in force.
//
// # Limitations
//
// Linux only, but for Clock. Settle and BindCPUs change the whole process.
package raw

import "time"

// Clock reads CLOCK_MONOTONIC in nanoseconds without a system call: the runtime's own reading of
// the same clock, moved by a distance found once.
type Clock struct {
	base  time.Time
	shift int64 // ns; CLOCK_MONOTONIC at base
}

func (c *Clock) Now() int64 { return int64(time.Since(c.base)) + c.shift }

// NewClock finds the distance by bracketing, keeping the narrowest of some tries: under 1 us.
func NewClock(monotonic func() int64) Clock {
	var best Clock
	width := time.Hour
	for range 32 {
		base := time.Now()
		at := monotonic()
		if w := time.Since(base); w < width {
			width, best = w, Clock{base, at - int64(w)/2}
		}
	}
	return best
}
