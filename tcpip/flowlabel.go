package tcpip

import "weir/wire"

// flowLabel returns the flow label of a packet that is sent: that of f, or for datagrams and echoes
// one that is a keyed hash of addresses, protocol and ports or identifier. It is the same for all
// packets of a flow, uniformly distributed, not zero, and cannot be guessed (RFC 6437, section 3).
func (s *Stack) flowLabel(f *outgoingPacket, payload []byte) uint32 {
	var of []byte
	switch {
	case f.flowLabel != 0 || len(payload) < wire.ICMPHeader:
		return f.flowLabel
	case f.protocol == wire.UDPProtocol:
		of = payload[:4] // the ports
	case f.protocol == wire.ICMPv6Protocol && (wire.ICMPv6Type(payload[0]) == wire.EchoRequest6 || wire.ICMPv6Type(payload[0]) == wire.EchoReply6):
		of = payload[4:6] // the identifier
	default:
		return 0
	}
	a, b := f.src.As16(), f.dst.As16()
	var name [38]byte
	copy(name[:], a[:])
	copy(name[16:], b[:])
	name[32], name[33] = 'l', byte(f.protocol)
	copy(name[34:], of)
	return 1 + uint32(siphash(&s.secret, name[:])%(1<<20-1))
}
