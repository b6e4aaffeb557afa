package oneloop

import (
	"sync/atomic"
	"time"

	"weir/lab/internal/raw"
	"weir/lab/internal/tally"
)

const (
	// ns; the longest sleep, and the longest time between two checks for timeouts
	Nap    = int64(50e6)
	notice = int64(2 * time.Millisecond)
)

// State is shared by the loop and its controller.
type State struct {
	// Immutable.
	Clock   raw.Clock
	Window  *tally.Window
	Steered bool // the window is set by commands

	Stop atomic.Bool // controller -> loop: stop soon
	// loop -> controller, before Ready: ns; due time of the first message
	Start atomic.Int64
	// loop -> controller, before Ready: ns; when every connection was ready
	Connected atomic.Int64
	Done      atomic.Int64 // loop -> any goroutine: correct answers or deliveries
	Failed    atomic.Int64 // loop -> any goroutine: failures
	Worst     atomic.Int64 // loop -> any goroutine: ns; maximum lateness since it was last set to 0
	Alive     atomic.Int64 // loop -> any goroutine: open connections

	// closed by the loop: the load starts soon; the window is over; the loop has ended. The first
	// two are not closed if the loop fails before
	Ready, Over, Ended chan struct{}

	// Owned by the loop; the controller reads them after Over or Ended is closed.
	Account
	Err error // why there was no load, or why it ended
}

// Account is the actual window, and this process's cost in it.
type Account struct {
	From, To           int64 // ns; 0 if the window never started
	cpuFrom, cpuTo     int64 // ns; this process's CPU at the window's ends
	queueFrom, queueTo int64 // ns; how long this thread has waited for a core, at the window's ends
}

// NewState returns the state of a loop that has not started.
func NewState(steered bool) *State {
	return &State{Clock: raw.NewClock(raw.Monotonic), Window: tally.NewWindow(), Steered: steered,
		Ready: make(chan struct{}), Over: make(chan struct{}), Ended: make(chan struct{})}
}

// Begin sets the due time of the first message and, if the run is not steered, the window: it
// starts then and has the given length (0: no end).
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

// Open records the start of the window.
func (s *State) Open(now int64) {
	if from := s.Window.From.Load(); s.From == 0 && now >= from {
		s.From, s.cpuFrom, s.queueFrom = from, raw.ProcessCPU(), raw.RunQueueWait()
	}
}

// Until returns until when an idle loop may sleep, at most the given time: it must wake at the
// window's ends.
func (s *State) Until(at int64) int64 {
	if s.From == 0 {
		at = min(at, s.Window.From.Load())
	}
	return min(at, s.Window.To.Load())
}

// Shut records the end of the window, if it had started.
func (s *State) Shut(end int64) {
	if s.From != 0 {
		s.To, s.cpuTo, s.queueTo = max(end, s.From), raw.ProcessCPU(), raw.RunQueueWait()
	}
}

// Length returns the length of the window in ns.
func (a *Account) Length() int64 { return a.To - a.From }

// CPU returns this process's CPU in the window in ns.
func (a *Account) CPU() int64 { return a.cpuTo - a.cpuFrom }

// RunQueue returns how long the loop's thread was runnable without a core in the window, in ns.
func (a *Account) RunQueue() int64 { return a.queueTo - a.queueFrom }
