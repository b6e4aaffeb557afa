package wire

import (
	"encoding/binary"
	"net/netip"
)

// ICMPv6Protocol is the protocol of ICMPv6 in IPv6 packets.
const ICMPv6Protocol Protocol = 58

// ICMPv6Type is the type of an ICMPv6 message. Types below 128 are errors.
type ICMPv6Type uint8

// The types of messages (RFC 4443, RFC 4861, RFC 2710, RFC 3810).
const (
	Unreachable6      ICMPv6Type = 1
	PacketTooBig6     ICMPv6Type = 2
	TimeExceeded6     ICMPv6Type = 3
	ParameterProblem6 ICMPv6Type = 4
	EchoRequest6      ICMPv6Type = 128
	EchoReply6        ICMPv6Type = 129
	ListenerQuery     ICMPv6Type = 130
	ListenerReport1   ICMPv6Type = 131
	ListenerDone      ICMPv6Type = 132
	RouterSolicit     ICMPv6Type = 133
	RouterAdvert      ICMPv6Type = 134
	NeighbourSolicit  ICMPv6Type = 135
	NeighbourAdvert   ICMPv6Type = 136
	Redirect6         ICMPv6Type = 137
	ListenerReport2   ICMPv6Type = 143
)

// Codes of Unreachable6 (RFC 4443, section 3.1).
const (
	NoRoute6         = 0
	Prohibited6      = 1
	BeyondScope6     = 2
	AddrUnreachable6 = 3
	PortUnreachable6 = 4
	SourcePolicy6    = 5
	RejectRoute6     = 6
)

// ICMPv6 is an ICMPv6 message: header and body (RFC 4443).
type ICMPv6 []byte

// ParseICMPv6 returns the view of a message.
func ParseICMPv6(b []byte) (ICMPv6, Fault) {
	if len(b) < ICMPHeader {
		return nil, Short
	}
	return ICMPv6(b), OK
}

// Type is the type of the message.
func (m ICMPv6) Type() ICMPv6Type { return ICMPv6Type(m[0]) }

// Code refines the type.
func (m ICMPv6) Code() uint8 { return m[1] }

// RestOfHeader is the second half of the header; its meaning depends on the type.
func (m ICMPv6) RestOfHeader() uint32 { return binary.BigEndian.Uint32(m[4:8]) }

// EchoID is the identifier of an echo message.
func (m ICMPv6) EchoID() uint16 { return binary.BigEndian.Uint16(m[4:6]) }

// EchoSeq is the sequence number of an echo message.
func (m ICMPv6) EchoSeq() uint16 { return binary.BigEndian.Uint16(m[6:8]) }

// Body is what follows the header.
func (m ICMPv6) Body() []byte { return m[ICMPHeader:] }

// ChecksumOK reports whether the checksum is right.
func (m ICMPv6) ChecksumOK(src, dst netip.Addr) bool {
	return Sum{}.Pseudo(src, dst, ICMPv6Protocol, len(m)).Add(m).OK()
}

// AppendICMPv6 appends a message with its checksum.
func AppendICMPv6(b []byte, src, dst netip.Addr, t ICMPv6Type, code uint8, rest uint32, body []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint32(append(b, byte(t), code, 0, 0), rest)
	b = append(b, body...)
	sum := Sum{}.Pseudo(src, dst, ICMPv6Protocol, len(b)-start).Add(b[start:])
	binary.BigEndian.PutUint16(b[start+2:], sum.Checksum())
	return b
}
