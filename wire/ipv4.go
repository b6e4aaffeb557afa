package wire

import (
	"encoding/binary"
	"net/netip"
)

// Protocol is the protocol of the payload of an IP packet.
type Protocol uint8

// The protocols that this package knows.
const (
	ICMPv4Protocol Protocol = 1
	TCPProtocol    Protocol = 6
	UDPProtocol    Protocol = 17
)

// Lengths of an IPv4 header, in bytes.
const (
	IPv4Header        = 20 // without options
	IPv4HeaderLargest = 60
	IPv4Largest       = 1<<16 - 1 // of a whole packet
)

// IPv4 is an IPv4 packet: header with options, and payload (RFC 791).
type IPv4 []byte

// ParseIPv4 returns the view of a packet, cut to its total length: frames may be padded. Total
// length zero, as in superframes of some devices, stands for the whole slice.
func ParseIPv4(b []byte) (IPv4, Fault) {
	if len(b) < IPv4Header {
		return nil, Short
	}
	if b[0]>>4 != 4 {
		return nil, WrongVersion
	}
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:4]))
	if total == 0 && len(b) > IPv4Largest {
		total = len(b)
	}
	switch {
	case header < IPv4Header || header > total:
		return nil, WrongLength
	case total > len(b):
		return nil, Short
	}
	return IPv4(b[:total]), OK
}

// HeaderLen is the length of the header with options: 20 to 60.
func (p IPv4) HeaderLen() int { return int(p[0]&15) * 4 }

// TOS is the octet with the Differentiated Services field and ECN.
func (p IPv4) TOS() uint8 { return p[1] }

// ID is the Identification: the fragments of a packet share it.
func (p IPv4) ID() uint16 { return binary.BigEndian.Uint16(p[4:6]) }

// DontFragment reports whether the packet must not be fragmented.
func (p IPv4) DontFragment() bool { return p[6]&0x40 != 0 }

// MoreFragments reports whether it is a fragment, and not the last.
func (p IPv4) MoreFragments() bool { return p[6]&0x20 != 0 }

// FragmentOffset is the offset of its payload in that of the whole packet, in bytes: a multiple of
// 8.
func (p IPv4) FragmentOffset() int { return int(binary.BigEndian.Uint16(p[6:8])&0x1fff) * 8 }

// IsFragment reports whether it is a fragment.
func (p IPv4) IsFragment() bool { return binary.BigEndian.Uint16(p[6:8])&0x3fff != 0 }

// TTL is the time to live: how many hops the packet may still travel.
func (p IPv4) TTL() uint8 { return p[8] }

// Protocol is the protocol of the payload.
func (p IPv4) Protocol() Protocol { return Protocol(p[9]) }

// Src is the source address.
func (p IPv4) Src() netip.Addr { return netip.AddrFrom4([4]byte(p[12:16])) }

// Dst is the destination address.
func (p IPv4) Dst() netip.Addr { return netip.AddrFrom4([4]byte(p[16:20])) }

// Options are the raw options.
func (p IPv4) Options() []byte { return p[IPv4Header:p.HeaderLen()] }

// Payload is the payload.
func (p IPv4) Payload() []byte { return p[p.HeaderLen():] }

// ChecksumOK reports whether the checksum of the header is right.
func (p IPv4) ChecksumOK() bool { return Sum{}.Add(p[:p.HeaderLen()]).OK() }

// IPv4Fields are the fields of a header to write. The length of Options is a multiple of 4, and at
// most 40.
type IPv4Fields struct {
	TOS            uint8
	ID             uint16
	DontFragment   bool
	MoreFragments  bool
	FragmentOffset int // in bytes, a multiple of 8
	TTL            uint8
	Protocol       Protocol
	Src, Dst       netip.Addr // IPv4
	Options        []byte
	Payload        int // length of the payload, in bytes
}

// AppendIPv4 appends the header of a packet.
func AppendIPv4(b []byte, f *IPv4Fields) []byte {
	start, header := len(b), IPv4Header+len(f.Options)
	fragment := uint16(f.FragmentOffset / 8)
	if f.DontFragment {
		fragment |= 0x4000
	}
	if f.MoreFragments {
		fragment |= 0x2000
	}
	src, dst := f.Src.As4(), f.Dst.As4()
	b = append(b, 0x40|byte(header/4), f.TOS)
	b = binary.BigEndian.AppendUint16(b, uint16(header+f.Payload))
	b = binary.BigEndian.AppendUint16(b, f.ID)
	b = binary.BigEndian.AppendUint16(b, fragment)
	b = append(b, f.TTL, byte(f.Protocol), 0, 0)
	b = append(append(append(b, src[:]...), dst[:]...), f.Options...)
	binary.BigEndian.PutUint16(b[start+10:], Sum{}.Add(b[start:]).Checksum())
	return b
}
