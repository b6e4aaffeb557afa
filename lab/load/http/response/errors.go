package response

import "errors"

// What can be wrong with a response. Each is complete as it stands and never wrapped.
var (
	ErrVersion    = errors.New("the answer does not begin with HTTP/1.0 or HTTP/1.1")
	ErrStatusLine = errors.New("the status line is malformed")
	ErrLine       = errors.New("a line does not end with CRLF, or holds a CR of its own")
	ErrField      = errors.New("a header field is malformed")
	ErrLength     = errors.New("Content-Length is no number, too large, or given twice")
	ErrCoding     = errors.New("a transfer coding other than chunked, or given twice")
	ErrFraming    = errors.New("the framing is ambiguous: chunked beside Content-Length or in HTTP/1.0")
	ErrForbidden  = errors.New("a response without a body has a Content-Length or Transfer-Encoding that it must not have")
	ErrSwitch     = errors.New("the protocol was switched, which nobody asked for")
	ErrInterim    = errors.New("too many 1xx responses")
	ErrChunk      = errors.New("a chunk is malformed")
	ErrTooLong    = errors.New("a head, chunk line or trailer is too long")

	ErrEmpty     = errors.New("the connection ended before an answer")
	ErrTruncated = errors.New("the connection ended in the middle of an answer")
)
