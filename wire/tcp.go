package wire

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// Lengths of a TCP header, in bytes.
const (
	TCPHeader        = 20 // without options
	TCPHeaderLargest = 60
)

// Flags are the control bits of a segment (RFC 9293, section 3.1).
type Flags uint8

// The control bits.
const (
	FIN Flags = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

var flagNames = [8]string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"}

// String returns the names of the bits that are set, joined by |.
func (f Flags) String() string {
	var names []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// TCP is a TCP segment: header with options, and payload (RFC 9293).
type TCP []byte

// ParseTCP returns the view of a segment.
func ParseTCP(b []byte) (TCP, Fault) {
	if len(b) < TCPHeader {
		return nil, Short
	}
	switch header := int(b[12]>>4) * 4; {
	case header < TCPHeader:
		return nil, WrongLength
	case header > len(b):
		return nil, Short
	}
	return TCP(b), OK
}

// SrcPort is the source port.
func (s TCP) SrcPort() uint16 { return binary.BigEndian.Uint16(s[0:2]) }

// DstPort is the destination port.
func (s TCP) DstPort() uint16 { return binary.BigEndian.Uint16(s[2:4]) }

// Seq is SEG.SEQ: the sequence number of the first byte, or of the SYN.
func (s TCP) Seq() Seq { return Seq(binary.BigEndian.Uint32(s[4:8])) }

// Ack is SEG.ACK: the next sequence number that the sender expects, if ACK is set.
func (s TCP) Ack() Seq { return Seq(binary.BigEndian.Uint32(s[8:12])) }

// HeaderLen is the length of the header with options: 20 to 60.
func (s TCP) HeaderLen() int { return int(s[12]>>4) * 4 }

// Flags are the control bits.
func (s TCP) Flags() Flags { return Flags(s[13]) }

// Window is the window field, not scaled.
func (s TCP) Window() uint16 { return binary.BigEndian.Uint16(s[14:16]) }

// Urgent is the urgent pointer, relative to Seq, if URG is set.
func (s TCP) Urgent() uint16 { return binary.BigEndian.Uint16(s[18:20]) }

// Options are the raw options: see ParseTCPOptions.
func (s TCP) Options() []byte { return s[TCPHeader:s.HeaderLen()] }

// Payload is the data of the segment.
func (s TCP) Payload() []byte { return s[s.HeaderLen():] }

// SeqLen is SEG.LEN: the length of the payload, plus one each for SYN and FIN.
func (s TCP) SeqLen() int {
	n := len(s) - s.HeaderLen()
	if s.Flags()&SYN != 0 {
		n++
	}
	if s.Flags()&FIN != 0 {
		n++
	}
	return n
}

// ChecksumOK reports whether the checksum is right.
func (s TCP) ChecksumOK(src, dst netip.Addr) bool {
	return Sum{}.Pseudo(src, dst, TCPProtocol, len(s)).Add(s).OK()
}

// TCPFields are the fields of a header to write. Options come from TCPOptions.Append; their length
// is a multiple of 4, and at most 40.
type TCPFields struct {
	Src, Dst netip.AddrPort
	Seq, Ack Seq
	Flags    Flags
	Window   uint16 // after scaling
	Urgent   uint16
	Options  []byte
}

// AppendTCP appends the header of a segment. The checksum covers the payload, given in parts, which
// AppendTCP does not append.
func AppendTCP(b []byte, f *TCPFields, payload ...[]byte) []byte {
	start := len(b)
	b = appendTCP(b, f)
	length := len(b) - start
	sum := Sum{}
	for _, part := range payload {
		length += len(part)
	}
	sum = sum.Pseudo(f.Src.Addr(), f.Dst.Addr(), TCPProtocol, length).Add(b[start:])
	for _, part := range payload {
		sum = sum.Add(part)
	}
	binary.BigEndian.PutUint16(b[start+16:], sum.Checksum())
	return b
}

// AppendTCPPartial appends the header of a segment with a payload of that many bytes, for a device
// that completes the checksum (checksum offload): the field holds the sum of the pseudo-header.
func AppendTCPPartial(b []byte, f *TCPFields, payload int) []byte {
	start := len(b)
	b = appendTCP(b, f)
	sum := Sum{}.Pseudo(f.Src.Addr(), f.Dst.Addr(), TCPProtocol, len(b)-start+payload)
	binary.BigEndian.PutUint16(b[start+16:], sum.Partial())
	return b
}

func appendTCP(b []byte, f *TCPFields) []byte {
	b = binary.BigEndian.AppendUint16(b, f.Src.Port())
	b = binary.BigEndian.AppendUint16(b, f.Dst.Port())
	b = binary.BigEndian.AppendUint32(b, uint32(f.Seq))
	b = binary.BigEndian.AppendUint32(b, uint32(f.Ack))
	b = append(b, byte((TCPHeader+len(f.Options))/4)<<4, byte(f.Flags))
	b = binary.BigEndian.AppendUint16(b, f.Window)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint16(b, f.Urgent)
	return append(b, f.Options...)
}
