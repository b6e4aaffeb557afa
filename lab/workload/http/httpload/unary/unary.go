// Package unary holds the parts of a unary gRPC call over HTTP/2 that are not HTTP/2: the prefix of
// a message, and the status of a call (gRPC's PROTOCOL-HTTP2).
//
// # Limitations
//
// No streams and no compression: a call has one message in each direction, as it is.
package unary

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// prefixSize is the size in bytes of a message's prefix: a flag and a length.
const prefixSize = 5

// MaxMessage is the largest message in bytes that an answer may have.
const MaxMessage = 16 << 20

// Encode returns a message with its prefix. The message must be shorter than 4 GiB.
func Encode(message []byte) []byte {
	out := make([]byte, prefixSize, prefixSize+len(message))
	binary.BigEndian.PutUint32(out[1:], uint32(len(message)))
	return append(out, message...)
}

// Answer reads the body of an answer, which has at most one message. Its zero value has read
// nothing.
type Answer struct {
	prefix [prefixSize]byte
	filled int // bytes of prefix that were received
	left   int // bytes of the message that were not received
}

// Feed takes the next piece of the body, and returns the part of the message in it. An error is
// final.
func (a *Answer) Feed(piece []byte) (message []byte, err error) {
	if a.filled < prefixSize {
		n := copy(a.prefix[a.filled:], piece)
		piece = piece[n:]
		if a.filled += n; a.filled < prefixSize {
			return nil, nil
		}
		length := binary.BigEndian.Uint32(a.prefix[1:])
		switch {
		case a.prefix[0] == 1:
			return nil, errors.New("its message is compressed, which was not accepted")
		case a.prefix[0] != 0:
			return nil, fmt.Errorf("the first byte of its message is %d: it is no gRPC message", a.prefix[0])
		case length > MaxMessage:
			return nil, fmt.Errorf("its message has %d bytes: more than the %d that are read", length, MaxMessage)
		}
		a.left = int(length)
	}
	if len(piece) > a.left {
		return nil, fmt.Errorf("%d bytes follow its message: a unary call has one", len(piece)-a.left)
	}
	a.left -= len(piece)
	return piece, nil
}

// End judges a body that has ended. A call that succeeded has a message, another may have none.
func (a *Answer) End(succeeded bool) error {
	switch {
	case a.filled == 0 && succeeded:
		return errors.New("it has no message, although its status is OK")
	case a.filled > 0 && a.filled < prefixSize:
		return fmt.Errorf("it ends after %d bytes of the prefix of its message", a.filled)
	case a.left > 0:
		return fmt.Errorf("it ends %d bytes before the end of its message", a.left)
	}
	return nil
}
