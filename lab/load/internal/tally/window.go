package tally

import (
	"math"
	"sync/atomic"
)

// Window is the measured time: what is at From or later and before To counts. The controller sets
// it before From has come, To first; the threads that measure only read it.
type Window struct{ From, To atomic.Int64 } // ns, CLOCK_MONOTONIC

// Unset is later than anything.
const Unset = math.MaxInt64

// NewWindow is a window that nobody has set.
func NewWindow() *Window {
	w := &Window{}
	w.From.Store(Unset)
	w.To.Store(Unset)
	return w
}

// Holds says whether the window counts what happened at the given time.
func (w *Window) Holds(at int64) bool { return at >= w.From.Load() && at < w.To.Load() }
