// Package raw has the functions that a generator's locked thread uses: the clock, reads and writes
// that bypass the Go runtime, settings of the process, and connections.
//
// A thread that waits by raw system calls must call PausePoint after each wait, and QuietRuntime
// must be in effect.
//
// # Limitations
//
// Linux only, except Clock. QuietRuntime and BindCPUs change the whole process.
package raw

import "time"

// Clock reads CLOCK_MONOTONIC in nanoseconds without a system call: the runtime's own reading of
// the same clock, plus an offset that is determined once.
type Clock struct {
	base  time.Time
	shift int64 // ns; CLOCK_MONOTONIC at base
}

func (c *Clock) Now() int64 { return int64(time.Since(c.base)) + c.shift }

// NewClock determines the offset by bracketing, and keeps the narrowest of several attempts: under
// 1 us.
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
