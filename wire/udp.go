package wire

import (
	"encoding/binary"
	"net/netip"
)

// UDPHeader is the length of the header of a datagram, in bytes.
const UDPHeader = 8

// UDP is a datagram: header and payload (RFC 768).
type UDP []byte

// ParseUDP returns the view of a datagram, cut to its length field. Length zero, as in superframes
// of some devices, stands for the whole slice.
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

// SrcPort is the source port.
func (d UDP) SrcPort() uint16 { return binary.BigEndian.Uint16(d[0:2]) }

// DstPort is the destination port.
func (d UDP) DstPort() uint16 { return binary.BigEndian.Uint16(d[2:4]) }

// Payload is the data of the datagram.
func (d UDP) Payload() []byte { return d[UDPHeader:] }

// ChecksumOK reports whether the checksum is right, or absent (zero), which IPv4 allows.
func (d UDP) ChecksumOK(src, dst netip.Addr) bool {
	if d[6] == 0 && d[7] == 0 && src.Is4() {
		return true
	}
	return Sum{}.Pseudo(src, dst, UDPProtocol, len(d)).Add(d).OK()
}

// AppendUDP appends the header of a datagram. The checksum covers the payload, which AppendUDP does
// not append.
func AppendUDP(b []byte, src, dst netip.AddrPort, payload []byte) []byte {
	start, length := len(b), UDPHeader+len(payload)
	b = binary.BigEndian.AppendUint16(b, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, 0, 0)
	check := Sum{}.Pseudo(src.Addr(), dst.Addr(), UDPProtocol, length).Add(b[start:]).Add(payload).Checksum()
	if check == 0 {
		check = 0xffff // zero stands for no checksum
	}
	binary.BigEndian.PutUint16(b[start+6:], check)
	return b
}
