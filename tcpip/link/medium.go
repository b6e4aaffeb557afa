package link

import "weir/wire"

// Medium is what a link carries.
type Medium uint8

// The media.
const (
	Ethernet Medium = iota // Ethernet frames: hosts have hardware addresses
	IP                     // packets of IPv4 and IPv6, without a header of the link
)

// HeaderLen is the length of the link's header before each packet, in bytes, without a VLAN tag.
func (m Medium) HeaderLen() int {
	if m == IP {
		return 0
	}
	return wire.EthernetHeader
}

// overhead is how much longer a frame may be than its packet.
func (m Medium) overhead() int {
	if m == IP {
		return 0
	}
	return frameOverhead
}

// minFrame is the length of the shortest frame, in bytes.
func (m Medium) minFrame() int { return max(m.HeaderLen(), 1) }
