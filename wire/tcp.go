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

// Flags are a segment's control bits (RFC 9293, section 3.1).
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

// String is the names of the bits that are set, joined by |.
func (f Flags) String() string {
	var names []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// TCP is a segment: header with options, and payload (RFC 9293).
type TCP []byte

// ParseTCP gives the view of a segment.
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

// SrcPort is whom it is from.
func (s TCP) SrcPort() uint16 { return binary.BigEndian.Uint16(s[0:2]) }

// DstPort is whom it is for.
func (s TCP) DstPort() uint16 { return binary.BigEndian.Uint16(s[2:4]) }

// Seq is the place of its first byte, or of its SYN.
func (s TCP) Seq() Seq { return Seq(binary.BigEndian.Uint32(s[4:8])) }

// Ack is the next place that its sender expects, if it has ACK.
func (s TCP) Ack() Seq { return Seq(binary.BigEndian.Uint32(s[8:12])) }

// HeaderLen is the header's length, options included: 20 to 60.
func (s TCP) HeaderLen() int { return int(s[12]>>4) * 4 }

// Flags are its control bits.
func (s TCP) Flags() Flags { return Flags(s[13]) }

// Window is how much its sender takes, not scaled.
func (s TCP) Window() uint16 { return binary.BigEndian.Uint16(s[14:16]) }

// Urgent is where urgent data ends, from Seq on, if it has URG.
func (s TCP) Urgent() uint16 { return binary.BigEndian.Uint16(s[18:20]) }

// Options are the header's, as they stand: see ParseTCPOptions.
func (s TCP) Options() []byte { return s[TCPHeader:s.HeaderLen()] }

// Payload is what it carries.
func (s TCP) Payload() []byte { return s[s.HeaderLen():] }

// Len is how many places it takes in the stream: its payload, SYN and FIN.
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

// ChecksumOK says whether the checksum is right.
func (s TCP) ChecksumOK(src, dst netip.Addr) bool {
	return Sum{}.Pseudo(src, dst, TCPProtocol, len(s)).Add(s).OK()
}

// TCPFields are what a header says. Options are built by TCPOptions.Append; their length is a
// multiple of 4, and at most 40.
type TCPFields struct {
	Src, Dst netip.AddrPort
	Seq, Ack Seq
	Flags    Flags
	Window   uint16 // scaled already
	Urgent   uint16
	Options  []byte
}

// AppendTCP appends the header of a segment that carries these parts, one after the other, which
// are not appended.
func AppendTCP(b []byte, f *TCPFields, payload ...[]byte) []byte {
	begin := len(b)
	b = appendTCP(b, f)
	length := len(b) - begin
	sum := Sum{}
	for _, part := range payload {
		length += len(part)
	}
	sum = sum.Pseudo(f.Src.Addr(), f.Dst.Addr(), TCPProtocol, length).Add(b[begin:])
	for _, part := range payload {
		sum = sum.Add(part)
	}
	binary.BigEndian.PutUint16(b[begin+16:], sum.Checksum())
	return b
}

// AppendTCPPartial appends the header of a segment with so many bytes of payload, whose checksum a
// device completes: in its place stands the pseudo-header's sum.
func AppendTCPPartial(b []byte, f *TCPFields, payload int) []byte {
	begin := len(b)
	b = appendTCP(b, f)
	sum := Sum{}.Pseudo(f.Src.Addr(), f.Dst.Addr(), TCPProtocol, len(b)-begin+payload)
	binary.BigEndian.PutUint16(b[begin+16:], sum.Partial())
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
