package oneloop

import (
	"sync/atomic"
	"time"

	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

const (
	Nap    = int64(50e6) // ns; the longest sleep, and the longest time between two looks round
	notice = int64(2 * time.Millisecond)
)

// State is what the loop and its controller both see.
type State struct {
	// Immutable.
	Clock   raw.Clock
	Window  *tally.Window
	Steered bool // the window is set by commands

	Stop atomic.Bool // controller -> loop: end soon
	// loop -> controller, before Ready: ns; when the first of the load is due
	Start atomic.Int64
	// loop -> controller, before Ready: ns; when every connection was where it should be
	Connected atomic.Int64
	Done      atomic.Int64 // loop -> anybody: what was answered, or delivered, as it should be
	Failed    atomic.Int64 // loop -> anybody: what failed
	Worst     atomic.Int64 // loop -> anybody: ns; the greatest lateness since somebody set it to 0
	Alive     atomic.Int64 // loop -> anybody: open connections

	// closed by the loop: the load begins soon; the window is over; everything is. The first two
	// not when it fails
	Ready, Over, Ended chan struct{}

	// Of the loop; the controller reads them when Over or Ended is closed.
	Account
	Err error // why there was no load at all, or why it ended
}

// Account is the window as it was, and what this process took meanwhile.
type Account struct {
	From, To           int64 // ns; 0 if the window never began
	cpuFrom, cpuTo     int64 // ns; this process's CPU at its ends
	queueFrom, queueTo int64 // ns; how long this thread has waited for a core, at its ends
}

// NewState is one whose loop has not begun.
func NewState(steered bool) *State {
	return &State{Clock: raw.NewClock(raw.Monotonic), Window: tally.NewWindow(), Steered: steered,
		Ready: make(chan struct{}), Over: make(chan struct{}), Ended: make(chan struct{})}
}

// Begin fixes when the first of the load is due and, when nobody steers, the window: from then on,
// for so long (0: with no end of its own).
func (s *State) Begin(start int64, window time.Duration) {
	s.Start.Store(start)
	if s.Steered {
		return
	}
	if window > 0 {
		s.Window.To.Store(start + int64(window))
	}
	s.Window.From.Store(start)
}

// Open opens the account when the window has begun.
func (s *State) Open(now int64) {
	if from := s.Window.From.Load(); s.From == 0 && now >= from {
		s.From, s.cpuFrom, s.queueFrom = from, raw.ProcessCPU(), raw.RunQueueWait()
	}
}

// Until is until when the loop may sleep that has nothing to do before the given time: the window's
// ends are not slept through.
func (s *State) Until(at int64) int64 {
	if s.From == 0 {
		at = min(at, s.Window.From.Load())
	}
	return min(at, s.Window.To.Load())
}

// Shut closes the account, if it was opened.
func (s *State) Shut(end int64) {
	if s.From != 0 {
		s.To, s.cpuTo, s.queueTo = max(end, s.From), raw.ProcessCPU(), raw.RunQueueWait()
	}
}

// Length is the window's, in ns.
func (a *Account) Length() int64 { return a.To - a.From }

// CPU is what this process used in the window, in ns.
func (a *Account) CPU() int64 { return a.cpuTo - a.cpuFrom }

// RunQueue is how long the loop's thread was ready and waited for a core in the window, in ns.
func (a *Account) RunQueue() int64 { return a.queueTo - a.queueFrom }
