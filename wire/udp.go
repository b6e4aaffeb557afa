package wire

import (
	"encoding/binary"
	"net/netip"
)

// UDPHeader is the length of a datagram's header.
const UDPHeader = 8

// UDP is a datagram: header and payload (RFC 768).
type UDP []byte

// ParseUDP gives the view of a datagram, cut to the length that it says. Length zero, as
// superframes of some devices have it, stands for all.
func ParseUDP(b []byte) (UDP, Fault) {
	if len(b) < UDPHeader {
		return nil, Short
	}
	length := int(binary.BigEndian.Uint16(b[4:6]))
	if length == 0 && len(b) > IPv4Largest {
		length = len(b)
	}
	switch {
	case length < UDPHeader:
		return nil, WrongLength
	case length > len(b):
		return nil, Short
	}
	return UDP(b[:length]), OK
}

// SrcPort is whom it is from.
func (d UDP) SrcPort() uint16 { return binary.BigEndian.Uint16(d[0:2]) }

// DstPort is whom it is for.
func (d UDP) DstPort() uint16 { return binary.BigEndian.Uint16(d[2:4]) }

// Payload is what it carries.
func (d UDP) Payload() []byte { return d[UDPHeader:] }

// ChecksumOK says whether the checksum is right. Over IPv4 there may be none (zero), which is right
// too.
func (d UDP) ChecksumOK(src, dst netip.Addr) bool {
	if d[6] == 0 && d[7] == 0 && src.Is4() {
		return true
	}
	return Sum{}.Pseudo(src, dst, UDPProtocol, len(d)).Add(d).OK()
}

// AppendUDP appends the header of a datagram with this payload, which is not appended.
func AppendUDP(b []byte, src, dst netip.AddrPort, payload []byte) []byte {
	begin, length := len(b), UDPHeader+len(payload)
	b = binary.BigEndian.AppendUint16(b, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, 0, 0)
	check := Sum{}.Pseudo(src.Addr(), dst.Addr(), UDPProtocol, length).Add(b[begin:]).Add(payload).Checksum()
	if check == 0 {
		check = 0xffff // zero says that there is none
	}
	binary.BigEndian.PutUint16(b[begin+6:], check)
	return b
}
