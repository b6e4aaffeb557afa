package wire

import (
	"encoding/binary"
	"net/netip"
)

// Lengths of an IPv6 packet, in bytes.
const (
	IPv6Header  = 40             // without extension headers
	IPv6Largest = 40 + 1<<16 - 1 // of a whole packet; jumbograms (RFC 2675) are not read
	IPv6MinMTU  = 1280           // every link carries packets of this size (RFC 8200, section 5)
)

// IPv6 is an IPv6 packet: header, extension headers and payload (RFC 8200).
type IPv6 []byte

// ParseIPv6 returns the view of a packet, cut to its length: frames may be padded. Payload length
// zero, as in superframes of some devices, stands for the whole slice if that is longer than the
// largest packet.
func ParseIPv6(b []byte) (IPv6, Fault) {
	if len(b) < IPv6Header {
		return nil, Short
	}
	if b[0]>>4 != 6 {
		return nil, WrongVersion
	}
	total := IPv6Header + int(binary.BigEndian.Uint16(b[4:6]))
	if total == IPv6Header && len(b) > IPv6Largest {
		total = len(b)
	}
	if total > len(b) {
		return nil, Short
	}
	return IPv6(b[:total]), OK
}

// TrafficClass is the octet with the Differentiated Services field and ECN.
func (p IPv6) TrafficClass() uint8 { return p[0]<<4 | p[1]>>4 }

// FlowLabel is the flow label, 20 bits (RFC 6437).
func (p IPv6) FlowLabel() uint32 { return binary.BigEndian.Uint32(p[0:4]) & 0xfffff }

// NextHeader is the protocol of the payload, or of the first extension header.
func (p IPv6) NextHeader() Protocol { return Protocol(p[6]) }

// HopLimit is how many hops the packet may still travel.
func (p IPv6) HopLimit() uint8 { return p[7] }

// Src is the source address, without a zone.
func (p IPv6) Src() netip.Addr { return netip.AddrFrom16([16]byte(p[8:24])) }

// Dst is the destination address, without a zone.
func (p IPv6) Dst() netip.Addr { return netip.AddrFrom16([16]byte(p[24:40])) }

// Payload is what follows the header: extension headers, if any, and the payload.
func (p IPv6) Payload() []byte { return p[IPv6Header:] }

// IPv6Fields are the fields of a header to write.
type IPv6Fields struct {
	TrafficClass uint8
	FlowLabel    uint32 // 20 bits
	NextHeader   Protocol
	HopLimit     uint8
	Src, Dst     netip.Addr // IPv6; zones are ignored
	Payload      int        // length of what follows the header, in bytes: at most 65,535
}

// AppendIPv6 appends the header of a packet. A payload that is too long for the header, as in a
// superframe, has length zero.
func AppendIPv6(b []byte, f *IPv6Fields) []byte {
	length := f.Payload
	if length > 1<<16-1 {
		length = 0
	}
	src, dst := f.Src.As16(), f.Dst.As16()
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(f.TrafficClass)<<20|f.FlowLabel&0xfffff)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, byte(f.NextHeader), f.HopLimit)
	return append(append(b, src[:]...), dst[:]...)
}
