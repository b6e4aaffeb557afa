package response

import "errors"

// The errors of a Parser. They are returned as they are, never wrapped.
var (
	ErrVersion    = errors.New("the response does not start with HTTP/1.0 or HTTP/1.1")
	ErrStatusLine = errors.New("the status line is malformed")
	ErrLine       = errors.New("a line does not end with CRLF, or contains a bare CR")
	ErrField      = errors.New("a header field is malformed")
	ErrLength     = errors.New("Content-Length is not a number, too large, or given twice")
	ErrCoding     = errors.New("a transfer coding other than chunked, or given twice")
	ErrFraming    = errors.New("the framing is ambiguous: chunked with Content-Length or in HTTP/1.0")
	ErrForbidden  = errors.New("a response without a body has a Content-Length or Transfer-Encoding that it must not have")
	ErrSwitch     = errors.New("the server switched protocols without a request for it")
	ErrInterim    = errors.New("too many 1xx responses")
	ErrChunk      = errors.New("a chunk is malformed")
	ErrTooLong    = errors.New("a head, chunk line or trailer is too long")

	ErrEmpty     = errors.New("the connection was closed before a response")
	ErrTruncated = errors.New("the connection was closed within a response")
)
