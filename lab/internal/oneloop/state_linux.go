package oneloop

import (
	"errors"
	"maps"
	"sync/atomic"
	"time"

	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
	"weir/lab/load"
)

const (
	// ns; the longest sleep, and the longest time between two checks for timeouts
	Nap    = int64(50e6)
	notice = int64(2 * time.Millisecond) // from a command to the window that it starts
)

// State is shared by the loop and its controller. A Loop embeds it: it has the methods of Loop that
// most loads do not need.
type State struct {
	// Immutable.
	Setup
	Clock  raw.Clock
	Window *tally.Window
	Delay  int64 // ns; from the last connection to the first message
	// how long connections may take before the load, without progress
	ConnectLimit time.Duration

	Stop atomic.Bool // controller -> loop: stop soon
	// loop -> controller, before Ready: ns; due time of the first message
	Start atomic.Int64
	// loop -> controller, before Ready: ns; when every connection was ready
	Connected atomic.Int64
	Done      atomic.Int64 // loop -> any goroutine: correct answers or deliveries
	Failed    atomic.Int64 // loop -> any goroutine: failures
	Worst     atomic.Int64 // loop -> any goroutine: ns; maximum lateness since it was last set to 0
	Alive     atomic.Int64 // loop -> any goroutine: open connections
	// loop -> controller, before Ready: returns the best start of a window at or after a time; nil:
	// that time
	Align func(at int64) int64

	// closed by the loop: the load starts soon; the window is over; the loop has ended. The first
	// two are not closed if the loop fails before
	Ready, Over, Ended chan struct{}

	// Owned by the loop; the controller reads them after Over or Ended is closed.
	Account
	Counts
	Err error // why there was no load, or why it ended

	// Owned by the loop.
	Poll         *Poll
	Server       Server         // of Dial
	Order        schedule.Order // of the messages that are due; nil: no schedule, or not yet
	MinSleep     int64          // ns; the minimum time between two wake-ups for messages
	IsOver       bool           // the window is over
	ReadyOnes    int            // connections that are ready for the load
	loud         func()         // undoes raw.QuietRuntime
	nextCheck    int64          // ns; time of the next Loop.Check
	lastDispatch int64          // ns; when messages were sent last
}

// Account is the actual window, and this process's cost in it.
type Account struct {
	From, To           int64 // ns; 0 if the window never started
	cpuFrom, cpuTo     int64 // ns; this process's CPU at the window's ends
	queueFrom, queueTo int64 // ns; how long this thread has waited for a core, at the window's ends
}

// Counts are what all loads count; load.Report says what they mean.
type Counts struct {
	Offered, Answered, FailedIn, Messages, Bytes, Behind, WarmMessages int64
	Lateness, Latency                                                  tally.Distribution
	Failures                                                           tally.Failures
	// the window was cut short
	EndedEarly bool
}

// Setup is what a load needs of this process.
type Setup struct {
	Steered    bool  // the window is set by commands
	CPUs       []int // the cores of every thread; empty: unchanged
	Files      int   // open files, beside those that every program has
	Histograms bool  // the report has the distributions as histograms
}

// NewState prepares this process and returns the state of a loop that has not started. Its owner
// must call End after Run.
func NewState(setup Setup) (*State, error) {
	if err := errors.Join(raw.BindCPUs(setup.CPUs), raw.RaiseFileLimit(setup.Files)); err != nil {
		return nil, err
	}
	poll, err := NewPoll()
	if err != nil {
		return nil, err
	}
	return &State{Setup: setup, Clock: raw.NewClock(raw.Monotonic), Window: tally.NewWindow(), Delay: int64(20e6), ConnectLimit: raw.DialTimeout, Poll: poll,
		loud: raw.QuietRuntime(), Ready: make(chan struct{}), Over: make(chan struct{}), Ended: make(chan struct{}),
		Counts: Counts{Lateness: tally.NewDistribution(), Latency: tally.NewDistribution()}}, nil
}

// End releases the descriptors, and restores the runtime's settings.
func (s *State) End() {
	s.Poll.Close()
	s.loud()
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

// Shut ends the window, if it had started, at the given time or when it should end.
func (s *State) Shut(now int64) (end int64) {
	s.Open(now) // a window that was cut short at once
	end = s.Window.To.Load()
	s.EndedEarly = now < end
	end = min(end, now)
	s.Window.To.Store(end)
	if s.From != 0 {
		s.To, s.cpuTo, s.queueTo = max(end, s.From), raw.ProcessCPU(), raw.RunQueueWait()
	}
	s.IsOver = true
	return end
}

// RecordLateness records that a message that was due at the given time was sent at now, and was not
// delayed by the server.
func (s *State) RecordLateness(at, now int64) {
	if now-at > s.Worst.Load() {
		s.Worst.Store(now - at)
	}
	if s.Window.Holds(at) {
		s.Lateness.Record(now - at)
	}
}

// Length returns the length of the window in ns.
func (a *Account) Length() int64 { return a.To - a.From }

// Report returns what all reports share. It must be called after Run.
func (s *State) Report() load.Report {
	r := load.Report{Offered: s.Offered, Answered: s.Answered, Failed: s.FailedIn, Messages: s.Messages, Bytes: s.Bytes, Behind: s.Behind, WarmMessages: s.WarmMessages,
		LatenessUS: s.Lateness.Percentiles(), LatencyUS: s.Latency.Percentiles(), LatencyMeanUS: s.Latency.MeanUS(),
		Errors: map[string]int64{}, Details: s.Failures.Details, Interrupt: s.EndedEarly,
		CPUNS: s.cpuTo - s.cpuFrom, RunQueueNS: s.queueTo - s.queueFrom, WindowNS: s.Length(), StartedNS: s.From}
	maps.Copy(r.Errors, s.Failures.Kinds)
	r.SetRates(s.Length())
	if s.Histograms {
		r.SetHistogram("lateness", s.Lateness)
		r.SetHistogram("latency", s.Latency)
	}
	return r
}
