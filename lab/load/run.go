package load

import "time"

// Events are callbacks by which a caller observes a run, and the commands by which it steers it.
// Run calls them from its own goroutine, one at a time. A slow callback delays other events but
// never the sending. Each may be nil. Times are CLOCK_MONOTONIC in ns.
type Events struct {
	Connected func(at int64) // every connection is open
	Sending   func(at int64) // the first message is due at that time
	Measuring func(at int64) // the measured window started at that time
	Measured  func(at int64) // the measured window ended at that time

	Progress func(Progress) // called at the interval Every, from Sending to Measured
	Every    time.Duration  // 0: never

	// Commands steers the run: the load warms up until Measure is received. Closing the channel
	// before that stops the run. nil: the window starts with the first message and lasts
	// Config.Duration.
	Commands <-chan Command // caller -> Run
}

// Command is a command to a steered run: to measure, or else to stop.
type Command struct {
	Measure time.Duration // length of the window that starts now; 0: stop
}

// Progress is the state of a run at one moment.
type Progress struct {
	Elapsed time.Duration // since the first message was due
	// complete messages, including those of short connections; of requests, those answered
	// completely and correctly
	Sent      int64
	Failed    int64         // of requests; 0 for other loads, which count failures at the end
	Alive     int           // sending connections that are not lost
	Lateness  time.Duration // the maximum since the last Progress
	Measuring bool          // the window has started
}
