package wire

import (
	"encoding/binary"
	"net/netip"
)

// Protocol says what a packet of IP carries.
type Protocol uint8

// The protocols that are known here.
const (
	ICMPv4Protocol Protocol = 1
	TCPProtocol    Protocol = 6
	UDPProtocol    Protocol = 17
)

// Lengths of an IPv4 header, in bytes.
const (
	IPv4Header        = 20 // without options
	IPv4HeaderLargest = 60
	IPv4Largest       = 1<<16 - 1 // of a packet
)

// IPv4 is a packet of IPv4: header with options, and payload (RFC 791).
type IPv4 []byte

// ParseIPv4 gives the view of a packet, cut to the length that it says: frames are padded. A packet
// that says zero, as superframes of some devices do, is taken as long as it is.
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

// HeaderLen is the header's length, options included: 20 to 60.
func (p IPv4) HeaderLen() int { return int(p[0]&15) * 4 }

// TOS is the octet of differentiated services and congestion notification.
func (p IPv4) TOS() uint8 { return p[1] }

// ID is the identification: what the fragments of a packet share.
func (p IPv4) ID() uint16 { return binary.BigEndian.Uint16(p[4:6]) }

// DontFragment says whether it must stay whole.
func (p IPv4) DontFragment() bool { return p[6]&0x40 != 0 }

// MoreFragments says whether it is a fragment and not the last.
func (p IPv4) MoreFragments() bool { return p[6]&0x20 != 0 }

// FragmentOffset is where its payload stands in the whole packet's, in bytes: a multiple of 8.
func (p IPv4) FragmentOffset() int { return int(binary.BigEndian.Uint16(p[6:8])&0x1fff) * 8 }

// Fragment says whether it is one.
func (p IPv4) Fragment() bool { return binary.BigEndian.Uint16(p[6:8])&0x3fff != 0 }

// TTL is how many hops it may still go.
func (p IPv4) TTL() uint8 { return p[8] }

// Protocol is what it carries.
func (p IPv4) Protocol() Protocol { return Protocol(p[9]) }

// Src is whom it is from.
func (p IPv4) Src() netip.Addr { return netip.AddrFrom4([4]byte(p[12:16])) }

// Dst is whom it is for.
func (p IPv4) Dst() netip.Addr { return netip.AddrFrom4([4]byte(p[16:20])) }

// Options are the header's, as they stand.
func (p IPv4) Options() []byte { return p[IPv4Header:p.HeaderLen()] }

// Payload is what it carries.
func (p IPv4) Payload() []byte { return p[p.HeaderLen():] }

// ChecksumOK says whether the header's checksum is right.
func (p IPv4) ChecksumOK() bool { return Sum{}.Add(p[:p.HeaderLen()]).OK() }

// IPv4Fields are what a header says. Options have a length that is a multiple of 4, and at most 40.
type IPv4Fields struct {
	TOS            uint8
	ID             uint16
	DontFragment   bool
	MoreFragments  bool
	FragmentOffset int // in bytes, a multiple of 8
	TTL            uint8
	Protocol       Protocol
	Src, Dst       netip.Addr // of IPv4
	Options        []byte
	Payload        int // its length, in bytes
}

// AppendIPv4 appends the header of a packet.
func AppendIPv4(b []byte, f *IPv4Fields) []byte {
	begin, header := len(b), IPv4Header+len(f.Options)
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
	binary.BigEndian.PutUint16(b[begin+10:], Sum{}.Add(b[begin:]).Checksum())
	return b
}
