package http1

import "errors"

// Violation says why a message is rejected. Violations are values of this package, compared by
// identity.
type Violation struct {
	Reason string // a phrase without a full stop
	Status int    // a status for the response: 400, 414, 431, 501 or 505
}

func (v *Violation) Error() string { return v.Reason }

var (
	errEmptyLine    = &Violation{"an empty line precedes the request line", 400}
	errMethod       = &Violation{"the method is not a token", 400}
	errTarget       = &Violation{"the request target is malformed", 400}
	errTargetLong   = &Violation{"the request target is too long", 414}
	errRequestLine  = &Violation{"the request line is malformed", 400}
	errVersion      = &Violation{"the protocol version is neither HTTP/1.0 nor HTTP/1.1", 505}
	errBareLF       = &Violation{"a line ends with LF alone", 400}
	errBareCR       = &Violation{"a CR is not followed by LF", 400}
	errHeadLarge    = &Violation{"the head is too large", 431}
	errFields       = &Violation{"the head has too many fields", 431}
	errFold         = &Violation{"a line starts with white space", 400}
	errName         = &Violation{"a field's name is not a token directly before its colon", 400}
	errValue        = &Violation{"a field's value has a control character", 400}
	errHosts        = &Violation{"the Host field occurs more than once", 400}
	errHost         = &Violation{"the Host field is malformed", 400}
	errNoHost       = &Violation{"an HTTP/1.1 request has no Host field", 400}
	errLength       = &Violation{"the Content-Length is not one decimal number", 400}
	errLengths      = &Violation{"the Content-Length occurs more than once", 400}
	errCoding       = &Violation{"the Transfer-Encoding does not end with chunked", 400}
	errOtherCoding  = &Violation{"the Transfer-Encoding has another coding than chunked", 501}
	errCodings      = &Violation{"the Transfer-Encoding occurs more than once", 400}
	errCodingIn10   = &Violation{"an HTTP/1.0 request has a Transfer-Encoding", 400}
	errBothLengths  = &Violation{"the request has both Content-Length and Transfer-Encoding", 400}
	errChunkSize    = &Violation{"a chunk's size is not a hexadecimal number", 400}
	errChunkLarge   = &Violation{"a chunk's size is too large", 400}
	errChunkLine    = &Violation{"a chunk's line is too long", 400}
	errChunkExt     = &Violation{"a chunk's extension has a control character", 400}
	errChunkEnd     = &Violation{"a chunk's data is not followed by CRLF", 400}
	errTrailerField = &Violation{"a trailer holds a field that frames the message", 400}
)

// Why a response is rejected.
var (
	errStatusLine      = errors.New("the status line of the response is malformed")
	errResponseField   = errors.New("a field of the response is malformed")
	errResponseLengths = errors.New("the response has contradictory lengths")
	errResponseCoding  = errors.New("the Transfer-Encoding of the response is not chunked alone")
)
