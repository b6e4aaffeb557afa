package h2

import (
	"errors"
	"fmt"

	"golang.org/x/net/http2"
)

// The errors of a connection: what the server sent is not HTTP/2 as it should be.
var (
	ErrPreface   = errors.New("the server's first frame is not SETTINGS: it does not speak HTTP/2 here")
	ErrFrameSize = errors.New("a frame is larger than allowed")
	ErrBlock     = errors.New("the encoded fields of a response are too long")
	ErrHPACK     = errors.New("the fields of a response are not valid HPACK")
	ErrPush      = errors.New("the server pushed although that is disabled")
	ErrStream    = errors.New("a frame is for a stream that was never opened")
	ErrWindow    = errors.New("a flow control window is larger than 2^31-1 bytes")
	ErrUnread    = errors.New("the server does not read what it makes the client send")
)

// Kind is the kind of a StreamError.
type Kind uint8

// The kinds of errors of a stream.
const (
	Malformed Kind = iota // the response is malformed
	Reset                 // the server sent RST_STREAM
	GoAway                // the server did not process the request, as its GOAWAY says
)

// StreamError is why a stream failed.
type StreamError struct {
	Kind Kind
	Code http2.ErrCode // of the server; for Malformed PROTOCOL_ERROR
	Text string        // of Malformed
}

func (e *StreamError) Error() string {
	switch e.Kind {
	case Reset:
		return fmt.Sprintf("the server reset the stream: %v", e.Code)
	case GoAway:
		return fmt.Sprintf("the server went away before it processed the request: %v", e.Code)
	}
	return e.Text
}
