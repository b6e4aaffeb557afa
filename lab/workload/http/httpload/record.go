package httpload

import "weir/lab/internal/tally"

// The kinds of errors beside those of package oneloop. A failed request has one of them.
const (
	kindTLS      = "tls"      // the handshake failed, or a record is invalid
	kindStatus   = "status"   // not 200, or the status described
	kindBody     = "body"     // not the expected body
	kindLength   = "length"   // a body of another length
	kindSHA256   = "sha256"   // a body with another hash
	kindMatch    = "match"    // a body in which a regular expression is not found
	kindJSON     = "json"     // a body that is not JSON, or without a field or its value
	kindProtocol = "protocol" // not HTTP/1.1, or not HTTP/2
	kindStream   = "stream"   // HTTP/2: the server reset the stream
	kindGoAway   = "goaway"   // HTTP/2: the server went away before it processed the request
	kindMessage  = "message"  // gRPC: not one message as it is
	kindGRPC     = "grpc "    // gRPC: starts the kind of a status that is not the expected one
	kindLimit    = "limit"    // more requests under way than Config.Connections
)

// counts holds the figures of the loop beside oneloop.Counts.
type counts struct {
	connects, handshakeTimes, processing, waits, totals tally.Distribution

	attempted, bodyBytes, encoded, opened int64 // see Report
	handshakes, resumed                   int64 // see TLSReport
	lastEndAt                             int64 // ns; end of the last request
}

func newCounts() counts {
	return counts{connects: tally.NewDistribution(), handshakeTimes: tally.NewDistribution(), processing: tally.NewDistribution(), waits: tally.NewDistribution(), totals: tally.NewDistribution()}
}
