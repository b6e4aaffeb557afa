package wire

import (
	"encoding/binary"
	"fmt"
)

// MAC is an Ethernet hardware address.
type MAC [6]byte

// Broadcast is the broadcast address.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// String formats the address as six hexadecimal numbers with colons.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// IsGroup reports whether it is a group address: multicast or broadcast.
func (m MAC) IsGroup() bool { return m[0]&1 != 0 }

// EtherType is the protocol of the payload of a frame.
type EtherType uint16

// The EtherTypes that this package knows.
const (
	TypeIPv4 EtherType = 0x0800
	TypeARP  EtherType = 0x0806
	TypeVLAN EtherType = 0x8100 // an 802.1Q tag follows, and then the type of the payload
	TypeIPv6 EtherType = 0x86dd
)

// EthernetHeader is the length of a frame's header without tags; VLANTag that of each tag.
const (
	EthernetHeader = 14
	VLANTag        = 4
)

// Ethernet is an Ethernet II frame without preamble and frame check sequence: header and payload.
type Ethernet []byte

// ParseEthernet returns the view of a frame. A VLAN tag must be complete.
func ParseEthernet(b []byte) (Ethernet, Fault) {
	e := Ethernet(b)
	if len(b) < EthernetHeader || e.IsTagged() && len(b) < EthernetHeader+VLANTag {
		return nil, Short
	}
	return e, OK
}

// Dst is the destination address.
func (e Ethernet) Dst() MAC { return MAC(e[0:6]) }

// Src is the source address.
func (e Ethernet) Src() MAC { return MAC(e[6:12]) }

// IsTagged reports whether the frame has an 802.1Q tag.
func (e Ethernet) IsTagged() bool { return EtherType(binary.BigEndian.Uint16(e[12:14])) == TypeVLAN }

// Tag is the 802.1Q tag; 0 if there is none.
func (e Ethernet) Tag() Tag {
	if !e.IsTagged() {
		return 0
	}
	return Tag(binary.BigEndian.Uint16(e[14:16]))
}

// Type is the EtherType of the payload, after the tag if there is one. A second tag is not skipped.
func (e Ethernet) Type() EtherType {
	if e.IsTagged() {
		return EtherType(binary.BigEndian.Uint16(e[16:18]))
	}
	return EtherType(binary.BigEndian.Uint16(e[12:14]))
}

// Payload is the payload with padding.
func (e Ethernet) Payload() []byte {
	if e.IsTagged() {
		return e[EthernetHeader+VLANTag:]
	}
	return e[EthernetHeader:]
}

// Tag is the tag control information of an 802.1Q tag.
type Tag uint16

// NewTag returns a tag: priority is 0 to 7, vlan 0 to 4,095.
func NewTag(priority int, dropEligible bool, vlan int) Tag {
	t := Tag(priority&7)<<13 | Tag(vlan&0xfff)
	if dropEligible {
		t |= 1 << 12
	}
	return t
}

// Priority is the priority code point, 0 to 7.
func (t Tag) Priority() int { return int(t >> 13) }

// DropEligible reports whether the frame may be dropped first under congestion.
func (t Tag) DropEligible() bool { return t&(1<<12) != 0 }

// VLANID is the VLAN identifier, 0 to 4,095; 0 is no VLAN.
func (t Tag) VLANID() int { return int(t & 0xfff) }

// AppendEthernet appends the header of a frame without a tag.
func AppendEthernet(b []byte, dst, src MAC, payloadType EtherType) []byte {
	b = append(b, dst[:]...)
	b = append(b, src[:]...)
	return binary.BigEndian.AppendUint16(b, uint16(payloadType))
}

// AppendTagged appends the header of a frame with an 802.1Q tag.
func AppendTagged(b []byte, dst, src MAC, tag Tag, payloadType EtherType) []byte {
	b = AppendEthernet(b, dst, src, TypeVLAN)
	b = binary.BigEndian.AppendUint16(b, uint16(tag))
	return binary.BigEndian.AppendUint16(b, uint16(payloadType))
}
