package httpload

import "weir/lab/internal/tally"

// The kinds of errors. A failed request has one of them.
const (
	kindConnect  = "connect"  // the connection could not be opened
	kindTimeout  = "timeout"  // no complete response in time; in the open loop possibly not sent
	kindReset    = "reset"    // the server reset the connection
	kindClosed   = "closed"   // the server closed it before the response was complete
	kindTLS      = "tls"      // the handshake failed, or a record is invalid
	kindStatus   = "status"   // not 200
	kindBody     = "body"     // not the expected body
	kindProtocol = "protocol" // not HTTP/1.1
	kindLimit    = "limit"    // more requests under way than Config.Connections
	kindLocal    = "local"    // no file descriptor or port on this machine
)

// counts holds the figures of the loop. The controller reads it when the loop has ended.
type counts struct {
	connects, handshakeTimes, processing, waits, totals, latency, lateness tally.Distribution

	offered, answeredDue, failedIn int64 // requests of the window
	attempted, messages            int64
	bytes, bodyBytes, encoded      int64 // of messages
	behind, warmMessages, opened   int64 // see Report
	handshakes, resumed            int64 // see TLSReport
	unfinished                     int64 // requests not complete at the end
	lastEndAt                      int64 // ns; end of the last request
	ended                          bool  // the window is over
	endedEarly                     bool  // the window was ended early
	fails                          tally.Failures
}

func newCounts() counts {
	return counts{connects: tally.NewDistribution(), handshakeTimes: tally.NewDistribution(), processing: tally.NewDistribution(), waits: tally.NewDistribution(),
		totals: tally.NewDistribution(), latency: tally.NewDistribution(), lateness: tally.NewDistribution()}
}
