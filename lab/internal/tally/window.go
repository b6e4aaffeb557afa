package tally

import (
	"math"
	"sync/atomic"
)

// Window is the measured time: events at From or later and before To count. The controller sets To
// and then From before From is reached; the measuring threads only read it.
type Window struct{ From, To atomic.Int64 } // ns, CLOCK_MONOTONIC

// Unset is a time that is never reached.
const Unset = math.MaxInt64

// NewWindow returns a window that is not set: it holds no time.
func NewWindow() *Window {
	w := &Window{}
	w.From.Store(Unset)
	w.To.Store(Unset)
	return w
}

// Holds reports whether an event at the given time counts in the window.
func (w *Window) Holds(at int64) bool { return at >= w.From.Load() && at < w.To.Load() }
