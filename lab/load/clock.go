package load

import "time"

// clock reads CLOCK_MONOTONIC in nanoseconds without a system call: the runtime's own reading of the same
// clock, moved by a distance found once.
type clock struct {
	base  time.Time
	shift int64 // ns; CLOCK_MONOTONIC at base
}

func (c *clock) now() int64 { return int64(time.Since(c.base)) + c.shift }

// newClock finds the distance by bracketing, keeping the narrowest of some tries: under 1 us.
func newClock(monotonic func() int64) clock {
	var best clock
	width := time.Hour
	for range 32 {
		base := time.Now()
		at := monotonic()
		if w := time.Since(base); w < width {
			width, best = w, clock{base, at - int64(w)/2}
		}
	}
	return best
}
