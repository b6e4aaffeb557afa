package ip

import (
	"encoding/binary"
	"time"

	"weir/wire"
)

// Add6 is Add for a fragment of IPv6, with its extension headers. A packet that is whole in one
// fragment is complete at once, whatever others have its identification (RFC 6946). The packet has
// no fragment header any more.
func (a *Reassembler) Add6(p wire.IPv6, x *wire.Extensions, now Time) ([]byte, Outcome) {
	header := len(p) - len(x.Payload)
	f := fragment{packetID{src: p.Src(), dst: p.Dst(), id: x.Fragment.ID()}, x.Fragment.Offset(), x.Fragment.MoreFragments(), p[:header], x.Payload, p.TrafficClass()}
	if f.first == 0 && !f.more {
		s := &reassembly{packetID: f.packetID, header: f.header, payloadLen: len(f.payload), chunks: []chunk{{0, f.payload}}}
		return s.build(), Complete
	}
	switch {
	case f.more && len(f.payload)%8 != 0:
		return nil, BadLength
	case header-wire.IPv6Header-wire.FragmentLen+f.first+len(f.payload) > f.largest():
		return nil, TooLarge
	case f.first == 0 && !hasHeaderChain(x.Protocol, f.payload):
		return nil, IncompleteChain
	}
	return a.add(&f, now)
}

// hasHeaderChain reports whether a first fragment has all headers of its packet, up to that of the
// upper layer (RFC 7112, section 5). next names the first header of its payload.
func hasHeaderChain(next wire.Protocol, payload []byte) bool {
	protocol, b, ok := wire.UpperLayer(next, payload)
	return ok && len(b) >= upperHeaderLen(protocol, b)
}

// upperHeaderLen is the length of the header of an upper layer that starts with b: at least one
// byte of a protocol that this package does not know. Of ICMPv6 the first four bytes are the header
// (RFC 7112, section 3).
func upperHeaderLen(p wire.Protocol, b []byte) int {
	switch p {
	case wire.NoNextHeader:
		return 0
	case wire.TCPProtocol:
		if len(b) < wire.TCPHeader {
			return wire.TCPHeader
		}
		return max(wire.TCPHeader, int(b[12]>>4)*4)
	case wire.UDPProtocol:
		return wire.UDPHeader
	case wire.ICMPv6Protocol:
		return 4
	}
	return 1
}

// timeout is how long a packet may be incomplete.
func (a *Reassembler) timeout(id packetID) time.Duration {
	switch {
	case a.limits.Timeout != 0:
		return a.limits.Timeout
	case id.src.Is6():
		return 60 * time.Second
	}
	return 30 * time.Second
}

// headerLen is the length of a header without options or extensions.
func (id *packetID) headerLen() int {
	if id.src.Is6() {
		return wire.IPv6Header
	}
	return wire.IPv4Header
}

// largest is the largest length of what follows that header.
func (id *packetID) largest() int {
	if id.src.Is6() {
		return wire.IPv6Largest - wire.IPv6Header
	}
	return wire.IPv4Largest - wire.IPv4Header
}

// length is the length of the whole packet. Its first and its last fragment have arrived.
func (s *reassembly) length() int {
	if s.src.Is6() {
		return len(s.header) - wire.FragmentLen + s.payloadLen
	}
	return len(s.header) + s.payloadLen
}

// wholeHeader appends what precedes the payload of the whole packet.
func (s *reassembly) wholeHeader(b []byte) []byte {
	mark := uint8(0)
	if s.ecnSeen[ce] {
		mark = ce
	}
	if s.src.Is6() {
		return s.wholeHeader6(b, mark)
	}
	h := wire.IPv4(s.header)
	return wire.AppendIPv4(b, &wire.IPv4Fields{TOS: h.TOS() | mark, ID: h.ID(), TTL: h.TTL(), Protocol: h.Protocol(), Src: h.Src(), Dst: h.Dst(),
		Options: h.Options(), Payload: s.payloadLen})
}

// wholeHeader6 appends the headers of the first fragment without the fragment header, which is the
// last one. The header before it names what follows instead.
func (s *reassembly) wholeHeader6(b []byte, mark uint8) []byte {
	own := s.header[:len(s.header)-wire.FragmentLen]
	b = append(b, own...)
	at := 6
	for next := wire.IPv6Header; next < len(own); next += int(own[next+1])*8 + 8 {
		at = next
	}
	b[at] = s.header[len(own)]
	b[1] |= mark << 4
	binary.BigEndian.PutUint16(b[4:], uint16(len(own)-wire.IPv6Header+s.payloadLen))
	return b
}
