package load

import "time"

// Events lets a caller watch a run, and steer it. Run calls the functions from its own goroutine,
// one at a time; a slow one delays other events but never the pacing. Any may be nil. Times are
// CLOCK_MONOTONIC, ns.
type Events struct {
	Connected func(at int64) // every connection is open
	Sending   func(at int64) // the first message is due at that time
	Measuring func(at int64) // the measured window began at that time
	Measured  func(at int64) // it is over

	Progress func(Progress) // every Every, from Sending to Measured
	Every    time.Duration  // 0: never

	// Commands steers: the load warms up until Measure comes. Closing it before that stops the run.
	// Nil: the window begins with the first message and lasts Config.Duration.
	Commands <-chan Command // caller -> Run
}

// Command is one order to a steered run: to measure, or else to stop.
type Command struct {
	Measure time.Duration // length of the window that begins now; 0 means stop
}

// Progress is what a run has done so far.
type Progress struct {
	Elapsed time.Duration // since the first message was due
	// whole messages, those of short connections included; of requests, those answered whole and
	// right
	Sent      int64
	Failed    int64 // of requests; 0 for other loads, which count failures at the end
	Echoed    int64
	Alive     int           // connections that send and aren't lost
	Lateness  time.Duration // the worst since the last Progress
	Measuring bool          // the window has begun
}
