package wire

import "encoding/binary"

// ICMPHeader is the length of a message's header.
const ICMPHeader = 8

// ICMPType is what a message of ICMPv4 says.
type ICMPType uint8

// The types (RFC 792).
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

// ICMP is a message of ICMPv4: header and body.
type ICMP []byte

// ParseICMP gives the view of a message.
func ParseICMP(b []byte) (ICMP, Fault) {
	if len(b) < ICMPHeader {
		return nil, Short
	}
	return ICMP(b), OK
}

// Type is what it says.
func (m ICMP) Type() ICMPType { return ICMPType(m[0]) }

// Code says it more exactly.
func (m ICMP) Code() uint8 { return m[1] }

// Rest is the second half of the header, which depends on the type.
func (m ICMP) Rest() uint32 { return binary.BigEndian.Uint32(m[4:8]) }

// ID is an echo's identifier.
func (m ICMP) ID() uint16 { return binary.BigEndian.Uint16(m[4:6]) }

// Number is an echo's sequence number.
func (m ICMP) Number() uint16 { return binary.BigEndian.Uint16(m[6:8]) }

// NextMTU is what FragmentationNeeded says of the next hop (RFC 1191); of old routers it is zero.
func (m ICMP) NextMTU() int { return int(binary.BigEndian.Uint16(m[6:8])) }

// Body is what follows the header: an echo's data, or the begin of the packet that an error is
// about.
func (m ICMP) Body() []byte { return m[ICMPHeader:] }

// ChecksumOK says whether the checksum is right.
func (m ICMP) ChecksumOK() bool { return Sum{}.Add(m).OK() }

// AppendICMP appends a message, whole.
func AppendICMP(b []byte, t ICMPType, code uint8, rest uint32, body []byte) []byte {
	begin := len(b)
	b = append(b, byte(t), code, 0, 0)
	b = append(binary.BigEndian.AppendUint32(b, rest), body...)
	binary.BigEndian.PutUint16(b[begin+2:], Sum{}.Add(b[begin:]).Checksum())
	return b
}

// Echo is the rest of an echo's header.
func Echo(id, number uint16) uint32 { return uint32(id)<<16 | uint32(number) }
