package stack

import "weir/lab/load/internal/tally"

// The kinds of errors.
const (
	kindConnect = "connect" // the connection was not made
	kindTimeout = "timeout" // it was not in time, or bulk stood still
	kindReset   = "reset"   // the stack reset the connection
	kindClosed  = "closed"  // the stack closed it when it should not
	// bytes that are not those that were sent, or that nobody asked for
	kindBody = "body"
	// of in: the stream's end came, and not all bytes had been acknowledged
	kindLost        = "lost"
	kindSend        = "send"        // a ping could not be sent
	kindUnreachable = "unreachable" // the network said of a ping that it could not be delivered
	kindChecksum    = "checksum"    // a ping's answer with a wrong one
	kindTwice       = "twice"       // a ping that was answered again
	kindPing        = "ping"        // a process of the system's ping failed
	// no descriptor, port or memory left here: not the stack's fault
	kindLocal = "local"
)

// bulkMessage is how many bytes of bulk count as one message.
const bulkMessage = 64 << 10

// counts is what a loop found. The controller reads it when the loop has ended.
type counts struct {
	times, connects, lateness tally.Distribution

	offered, messages, warm, opened int64
	bytes                           int64
	span                            int64 // ns between the two readings of bulk
	// connections of in whose end of stream said that all has arrived
	confirmed       int64
	lost, unstamped int64 // pings
	// ns; CPU of the system's pings, from their begin to their end
	children int64
	cut      bool // the window ended before its time
	segments segments
	fails    tally.Failures
}

// segments of TCP, of the window.
type segments struct{ out, in, again int64 }

func (s *segments) add(t segments) {
	s.out += t.out
	s.in += t.in
	s.again += t.again
}

func (s segments) minus(t segments) segments {
	return segments{s.out - t.out, s.in - t.in, s.again - t.again}
}

func newCounts() counts {
	return counts{times: tally.NewDistribution(), connects: tally.NewDistribution(), lateness: tally.NewDistribution()}
}
