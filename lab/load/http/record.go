package http

import "weir/lab/load/internal/tally"

// The kinds of errors. Every request that fails does so for one of them.
const (
	kindConnect  = "connect"  // the connection was not made
	kindTimeout  = "timeout"  // not answered in time; in the open loop perhaps not even begun
	kindReset    = "reset"    // the server reset the connection
	kindClosed   = "closed"   // the server closed it before the answer was whole
	kindStatus   = "status"   // not 200
	kindBody     = "body"     // not the body expected
	kindProtocol = "protocol" // not HTTP/1.1
	kindLimit    = "limit"    // more under way at once than Config.Connections
	kindLocal    = "local"    // no descriptor or no port left here: not the server's fault
)

// counts is what the loop found. The controller reads it when the loop has ended.
type counts struct {
	connects, processing, waits, totals, latency, lateness tally.Distribution

	offered, answeredDue, failedIn int64 // requests of the window
	attempted, messages            int64
	bytes, bodyBytes, encoded      int64 // of these messages
	behind, warm, opened           int64
	unfinished                     int64 // requests undecided at the end
	last                           int64 // ns; when the last request was decided
	ended, cut                     bool  // the window is over; before its time
	fails                          tally.Failures
}

func newCounts() counts {
	return counts{connects: tally.NewDistribution(), processing: tally.NewDistribution(), waits: tally.NewDistribution(),
		totals: tally.NewDistribution(), latency: tally.NewDistribution(), lateness: tally.NewDistribution()}
}
