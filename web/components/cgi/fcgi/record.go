// Package fcgi is the web server's side of FastCGI: its records as pure functions of bytes, and one
// request over a connection in the role of a Responder (FastCGI specification 1.0, Open Market,
// 1996).
//
// # Limitations
//
// A connection carries one request, and the application closes it afterwards: requests are not
// multiplexed, and connections are not reused. The roles Authorizer and Filter, and queries of the
// application's values, are not supported.
package fcgi

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Type is the type of a record (section 8).
type Type uint8

// The types of records that a Responder's exchange has.
const (
	BeginRequest Type = 1
	AbortRequest Type = 2
	EndRequest   Type = 3
	Params       Type = 4
	Stdin        Type = 5
	Stdout       Type = 6
	Stderr       Type = 7
)

const (
	version    = 1
	headerSize = 8
	responder  = 1 // the role

	// MaxContent is the size of a record's largest content, in bytes.
	MaxContent = 1<<16 - 1
	// the content of a stream's records: a record of this size needs no padding
	streamContent = MaxContent &^ 7
)

// Header is the first 8 bytes of a record (section 3.3).
type Header struct {
	Type    Type
	ID      uint16 // of the request; 0: of the connection
	Content uint16 // length of the content that follows, in bytes
	Padding uint8  // length of the padding that follows the content, in bytes
}

// Append appends the header in its wire format.
func (h Header) Append(b []byte) []byte {
	b = append(b, version, byte(h.Type))
	b = binary.BigEndian.AppendUint16(b, h.ID)
	b = binary.BigEndian.AppendUint16(b, h.Content)
	return append(b, h.Padding, 0)
}

// Errors of what an application sends.
var (
	errShort   = errors.New("fcgi: a record is truncated")
	errVersion = errors.New("fcgi: the application does not use FastCGI version 1")
)

// ParseHeader parses a header from the first 8 bytes of b.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < headerSize {
		return Header{}, errShort
	}
	if b[0] != version {
		return Header{}, errVersion
	}
	return Header{Type: Type(b[1]), ID: binary.BigEndian.Uint16(b[2:]), Content: binary.BigEndian.Uint16(b[4:]), Padding: b[6]}, nil
}

// AppendRecord appends a record with padding. The content has at most MaxContent bytes.
func AppendRecord(b []byte, t Type, id uint16, content []byte) []byte {
	h := Header{Type: t, ID: id, Content: uint16(len(content)), Padding: uint8(-len(content) & 7)}
	b = append(h.Append(b), content...)
	return append(b, make([]byte, h.Padding)...)
}

// AppendStream appends as many records as the content needs. It does not append the empty record
// that ends a stream.
func AppendStream(b []byte, t Type, id uint16, content []byte) []byte {
	for len(content) > 0 {
		n := min(len(content), streamContent)
		b = AppendRecord(b, t, id, content[:n])
		content = content[n:]
	}
	return b
}

// AppendBegin appends the record that begins a request. It asks the application to close the
// connection after the response (section 5.1).
func AppendBegin(b []byte, id uint16) []byte {
	return AppendRecord(b, BeginRequest, id, []byte{0, responder, 0, 0, 0, 0, 0, 0})
}

// ProtocolStatus is how a request ended at the protocol level (section 5.5).
type ProtocolStatus uint8

// The protocol statuses.
const (
	RequestComplete ProtocolStatus = 0
	CantMultiplex   ProtocolStatus = 1
	Overloaded      ProtocolStatus = 2
	UnknownRole     ProtocolStatus = 3
)

func (s ProtocolStatus) String() string {
	switch s {
	case RequestComplete:
		return "complete"
	case CantMultiplex:
		return "the application does not multiplex requests"
	case Overloaded:
		return "the application is overloaded"
	case UnknownRole:
		return "the application does not support the role of a Responder"
	}
	return fmt.Sprintf("protocol status %d", uint8(s))
}

// ParseEnd parses the content of the record that ends a request: the application's exit status, and
// the protocol status.
func ParseEnd(content []byte) (exit uint32, status ProtocolStatus, err error) {
	if len(content) < 5 {
		return 0, 0, errShort
	}
	return binary.BigEndian.Uint32(content), ProtocolStatus(content[4]), nil
}
