package stackload

import "weir/lab/internal/tally"

// The kinds of errors beside those of package oneloop.
const (
	// data that differs from what was sent, or that is unexpected
	kindBody = "body"
	// in: the stack closed the connection before it had acknowledged all bytes
	kindLost        = "lost"
	kindSend        = "send"        // a ping could not be sent
	kindUnreachable = "unreachable" // an ICMP error for a ping
	kindChecksum    = "checksum"    // an echo reply with a wrong checksum
	kindTwice       = "twice"       // a second reply to a ping
	kindPing        = "ping"        // a process of the system's ping failed
)

// bulkMessage is the number of bytes of bulk data that count as one message.
const bulkMessage = 64 << 10

// counts holds the figures of an operation beside oneloop.Counts.
type counts struct {
	connects tally.Distribution
	opened   int64
	span     int64 // ns between the two readings of bulk data
	// connections of in whose end of stream confirmed that all data has arrived
	confirmed       int64
	lost, unstamped int64 // pings
	childrenCPU     int64 // ns; CPU of the system's pings over their whole life
	segments        segments
}

// segments counts TCP segments; again are retransmissions.
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
	return counts{connects: tally.NewDistribution()}
}
