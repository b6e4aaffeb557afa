package wire

import (
	"encoding/binary"
	"fmt"
)

// MAC is a hardware address.
type MAC [6]byte

// Broadcast is everybody's address.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// String is six numbers in hexadecimal, with colons.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// Group says whether it is the address of more than one: multicast or broadcast.
func (m MAC) Group() bool { return m[0]&1 != 0 }

// EtherType says what a frame carries.
type EtherType uint16

// The types that are known here.
const (
	TypeIPv4 EtherType = 0x0800
	TypeARP  EtherType = 0x0806
	TypeVLAN EtherType = 0x8100 // an 802.1Q tag follows, and then the type of what is carried
	TypeIPv6 EtherType = 0x86dd
)

// EthernetHeader is the length of a frame's header without tags; VLANTag that of each tag.
const (
	EthernetHeader = 14
	VLANTag        = 4
)

// Ethernet is a frame of Ethernet II, without preamble and check sequence: header and payload.
type Ethernet []byte

// ParseEthernet gives the view of a frame. A tag is checked to be whole.
func ParseEthernet(b []byte) (Ethernet, Fault) {
	e := Ethernet(b)
	if len(b) < EthernetHeader || e.Tagged() && len(b) < EthernetHeader+VLANTag {
		return nil, Short
	}
	return e, OK
}

// Dst is whom it is for.
func (e Ethernet) Dst() MAC { return MAC(e[0:6]) }

// Src is whom it is from.
func (e Ethernet) Src() MAC { return MAC(e[6:12]) }

// Tagged says whether it has an 802.1Q tag.
func (e Ethernet) Tagged() bool { return EtherType(binary.BigEndian.Uint16(e[12:14])) == TypeVLAN }

// Tag is its 802.1Q tag: priority (0 to 7), drop eligible, and the network's number (0 to 4,095).
// Of a frame without it is zero.
func (e Ethernet) Tag() Tag {
	if !e.Tagged() {
		return 0
	}
	return Tag(binary.BigEndian.Uint16(e[14:16]))
}

// Type is what it carries, behind the tag if there is one. A second tag is not looked behind.
func (e Ethernet) Type() EtherType {
	if e.Tagged() {
		return EtherType(binary.BigEndian.Uint16(e[16:18]))
	}
	return EtherType(binary.BigEndian.Uint16(e[12:14]))
}

// Payload is what it carries, padding included.
func (e Ethernet) Payload() []byte {
	if e.Tagged() {
		return e[EthernetHeader+VLANTag:]
	}
	return e[EthernetHeader:]
}

// Tag is the control information of an 802.1Q tag.
type Tag uint16

// NewTag makes one: priority is 0 to 7, network 0 to 4,095.
func NewTag(priority int, eligible bool, network int) Tag {
	t := Tag(priority&7)<<13 | Tag(network&0xfff)
	if eligible {
		t |= 1 << 12
	}
	return t
}

// Priority is 0 to 7.
func (t Tag) Priority() int { return int(t >> 13) }

// Eligible says whether it may be dropped first.
func (t Tag) Eligible() bool { return t&(1<<12) != 0 }

// Network is the virtual network's number, 0 to 4,095; 0 is none.
func (t Tag) Network() int { return int(t & 0xfff) }

// AppendEthernet appends the header of a frame without a tag.
func AppendEthernet(b []byte, dst, src MAC, carries EtherType) []byte {
	b = append(b, dst[:]...)
	b = append(b, src[:]...)
	return binary.BigEndian.AppendUint16(b, uint16(carries))
}

// AppendTagged appends the header of a frame with a tag.
func AppendTagged(b []byte, dst, src MAC, tag Tag, carries EtherType) []byte {
	b = AppendEthernet(b, dst, src, TypeVLAN)
	b = binary.BigEndian.AppendUint16(b, uint16(tag))
	return binary.BigEndian.AppendUint16(b, uint16(carries))
}
