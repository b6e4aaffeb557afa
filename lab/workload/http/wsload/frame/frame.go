package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Opcode is the kind of a frame (RFC 6455, section 5.2).
type Opcode uint8

// The opcodes.
const (
	Continuation Opcode = 0
	Text         Opcode = 1
	Binary       Opcode = 2
	Close        Opcode = 8
	Ping         Opcode = 9
	Pong         Opcode = 10
)

func (o Opcode) isControl() bool { return o >= Close }

// MaxControl is the largest payload of a control frame in bytes.
const MaxControl = 125

// Bits and lengths of a frame's header.
const (
	fin       = 0x80
	reserved  = 0x70
	maskBit   = 0x80
	length16  = 126 // the length follows in 2 bytes
	length64  = 127 // the length follows in 8 bytes
	maxHeader = 10  // bytes of a header without a mask
)

// The errors of a Parser. They are returned as they are, never wrapped.
var (
	ErrReserved     = errors.New("a frame has reserved bits, although no extension was agreed on")
	ErrOpcode       = errors.New("a frame has an unknown opcode")
	ErrMasked       = errors.New("a frame of the server is masked")
	ErrLength       = errors.New("the length of a frame is not in its shortest form, or too large")
	ErrControl      = errors.New("a control frame is fragmented, or has more than 125 bytes")
	ErrContinuation = errors.New("a continuation has no start, or a message starts within another")
	ErrClose        = errors.New("a Close frame has one byte, or an invalid status")
)

// Append appends a frame of a client with one whole message or control frame. The key masks its
// payload.
func Append(out []byte, op Opcode, payload []byte, key uint32) []byte {
	out = append(out, fin|byte(op))
	switch n := len(payload); {
	case n < length16:
		out = append(out, maskBit|byte(n))
	case n <= 0xffff:
		out = binary.BigEndian.AppendUint16(append(out, maskBit|length16), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, maskBit|length64), uint64(n))
	}
	out = binary.LittleEndian.AppendUint32(out, key)
	at := len(out)
	out = append(out, payload...)
	mask(out[at:], key)
	return out
}

// mask masks payload in place. The bytes of key are in little-endian order.
func mask(payload []byte, key uint32) {
	wide := uint64(key)<<32 | uint64(key)
	for len(payload) >= 8 {
		binary.LittleEndian.PutUint64(payload, binary.LittleEndian.Uint64(payload)^wide)
		payload = payload[8:]
	}
	for i := range payload {
		payload[i] ^= byte(key >> (8 * (i % 4)))
	}
}

// Piece is a part of a message, or a whole control frame.
type Piece struct {
	Op      Opcode // of the message; not Continuation
	Payload []byte // valid until the next call
	Last    bool   // it ends the message
}

// Status returns the status and the reason of a Close frame; 1005 if it has none.
func (p Piece) Status() (status int, reason string) {
	if len(p.Payload) < 2 {
		return 1005, ""
	}
	return int(binary.BigEndian.Uint16(p.Payload)), string(p.Payload[2:])
}

// StatusText describes a status.
func StatusText(status int) string {
	names := map[int]string{1000: "normal", 1001: "going away", 1002: "protocol error", 1003: "unsupported data", 1005: "none", 1007: "invalid payload",
		1008: "policy violation", 1009: "message too big", 1010: "mandatory extension", 1011: "internal error", 1012: "restart", 1013: "try again later"}
	return fmt.Sprintf("%d %s", status, names[status])
}

// Parser reads the frames of a server. Its zero value is ready for the first.
type Parser struct {
	header    []byte // received of the header of a frame
	inPayload bool
	op        Opcode
	isFinal   bool
	left      uint64 // bytes of the payload that are not received
	message   Opcode // of the message whose frames are being received; Continuation: none
	control   []byte // received of a control frame
}

// Feed parses the next bytes. It returns the number of bytes consumed, and a piece if ok. Call it
// until all bytes are consumed. An error is one of this package's, and final.
func (p *Parser) Feed(in []byte) (n int, piece Piece, ok bool, err error) {
	for !p.inPayload {
		size := p.headerSize()
		k := min(size-len(p.header), len(in)-n)
		p.header = append(p.header, in[n:n+k]...)
		if n += k; len(p.header) < size {
			return n, piece, false, nil
		}
		if p.headerSize() == len(p.header) {
			if err := p.readHeader(); err != nil {
				return n, piece, false, err
			}
		}
	}
	k := int(min(p.left, uint64(len(in)-n)))
	payload := in[n : n+k]
	n += k
	p.left -= uint64(k)
	p.inPayload = p.left > 0
	if p.op.isControl() {
		p.control = append(p.control, payload...)
		if p.inPayload {
			return n, piece, false, nil
		}
		piece = Piece{p.op, p.control, true}
		return n, piece, true, checkClose(piece)
	}
	piece = Piece{p.message, payload, p.isFinal && !p.inPayload}
	if piece.Last {
		p.message = Continuation
	}
	return n, piece, len(payload) > 0 || piece.Last, nil
}

// headerSize returns the size of the header, as far as it is known.
func (p *Parser) headerSize() int {
	if len(p.header) < 2 {
		return 2
	}
	switch p.header[1] &^ maskBit {
	case length16:
		return 4
	case length64:
		return maxHeader
	}
	return 2
}

// readHeader parses a complete header.
func (p *Parser) readHeader() error {
	h := p.header
	p.op, p.isFinal, p.left = Opcode(h[0]&0x0f), h[0]&fin != 0, uint64(h[1]&^maskBit)
	least := uint64(0)
	switch len(h) {
	case 4:
		p.left, least = uint64(binary.BigEndian.Uint16(h[2:])), length16
	case maxHeader:
		p.left, least = binary.BigEndian.Uint64(h[2:]), 1<<16
	}
	p.header, p.inPayload, p.control = p.header[:0], true, p.control[:0]
	switch {
	case h[0]&reserved != 0:
		return ErrReserved
	case h[1]&maskBit != 0:
		return ErrMasked
	case p.op > Pong || p.op > Binary && p.op < Close:
		return ErrOpcode
	case p.left < least || p.left > 1<<63-1:
		return ErrLength
	case p.op.isControl() && (!p.isFinal || p.left > MaxControl):
		return ErrControl
	case !p.op.isControl() && (p.op == Continuation) != (p.message != Continuation):
		return ErrContinuation
	}
	if p.op == Text || p.op == Binary {
		p.message = p.op
	}
	return nil
}

// checkClose checks a Close frame (RFC 6455, sections 5.5.1 and 7.4).
func checkClose(p Piece) error {
	if p.Op != Close || len(p.Payload) == 0 {
		return nil
	}
	if len(p.Payload) == 1 {
		return ErrClose
	}
	switch status, _ := p.Status(); {
	case status < 1000 || status >= 5000, status == 1004, status == 1005, status == 1006, status == 1015:
		return ErrClose
	}
	return nil
}
