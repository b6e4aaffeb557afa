package wire

import "encoding/binary"

// ICMPHeader is the length of the header of an ICMP message, in bytes.
const ICMPHeader = 8

// ICMPType is the type of an ICMPv4 message.
type ICMPType uint8

// The types of messages (RFC 792).
const (
	EchoReply        ICMPType = 0
	Unreachable      ICMPType = 3
	EchoRequest      ICMPType = 8
	TimeExceeded     ICMPType = 11
	ParameterProblem ICMPType = 12
)

// Codes of Unreachable (RFC 792, RFC 1122) and of TimeExceeded.
const (
	NetUnreachable      = 0
	HostUnreachable     = 1
	ProtocolUnreachable = 2
	PortUnreachable     = 3
	FragmentationNeeded = 4
	HostProhibited      = 10
	CommProhibited      = 13

	TransitExceeded    = 0
	ReassemblyExceeded = 1
)

// ICMP is an ICMPv4 message: header and body.
type ICMP []byte

// ParseICMP returns the view of a message.
func ParseICMP(b []byte) (ICMP, Fault) {
	if len(b) < ICMPHeader {
		return nil, Short
	}
	return ICMP(b), OK
}

// Type is the type of the message.
func (m ICMP) Type() ICMPType { return ICMPType(m[0]) }

// Code refines the type.
func (m ICMP) Code() uint8 { return m[1] }

// RestOfHeader is the second half of the header; its meaning depends on the type.
func (m ICMP) RestOfHeader() uint32 { return binary.BigEndian.Uint32(m[4:8]) }

// EchoID is the identifier of an echo message.
func (m ICMP) EchoID() uint16 { return binary.BigEndian.Uint16(m[4:6]) }

// EchoSeq is the sequence number of an echo message.
func (m ICMP) EchoSeq() uint16 { return binary.BigEndian.Uint16(m[6:8]) }

// NextMTU is the next-hop MTU of FragmentationNeeded (RFC 1191); old routers send zero.
func (m ICMP) NextMTU() int { return int(binary.BigEndian.Uint16(m[6:8])) }

// Body follows the header: the data of an echo, or the start of the packet that an error is about.
func (m ICMP) Body() []byte { return m[ICMPHeader:] }

// ChecksumOK reports whether the checksum is right.
func (m ICMP) ChecksumOK() bool { return Sum{}.Add(m).OK() }

// AppendICMP appends a whole message.
func AppendICMP(b []byte, t ICMPType, code uint8, rest uint32, body []byte) []byte {
	start := len(b)
	b = append(b, byte(t), code, 0, 0)
	b = append(binary.BigEndian.AppendUint32(b, rest), body...)
	binary.BigEndian.PutUint16(b[start+2:], Sum{}.Add(b[start:]).Checksum())
	return b
}

// EchoHeader returns the rest of the header of an echo message.
func EchoHeader(id, seq uint16) uint32 { return uint32(id)<<16 | uint32(seq) }
