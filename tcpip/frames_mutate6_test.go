package tcpip

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"weir/wire"
)

// extension is an extension header: its protocol, and what follows its Next Header field.
type extension struct {
	protocol wire.Protocol
	rest     string
}

// extensions are extension headers, valid and invalid ones.
var extensions = []extension{
	// padding
	{wire.HopByHop, "\x00\x01\x04\x00\x00\x00\x00"},
	// a router alert
	{wire.HopByHop, "\x00\x05\x02\x00\x00\x01\x00"},
	// an option to skip
	{wire.DestinationOptions, "\x00\x1e\x04\x00\x00\x00\x00"},
	// one to report
	{wire.DestinationOptions, "\x00\x9e\x04\x00\x00\x00\x00"},
	// one beyond the header
	{wire.DestinationOptions, "\x00\x01\x05\x00\x00\x00\x00"},
	// beyond the packet
	{wire.DestinationOptions, "\xff\x01\x04\x00\x00\x00\x00"},
	// of 16 bytes
	{wire.DestinationOptions, "\x01\x01\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
	// at its end
	{wire.Routing, "\x00\x00\x00\x00\x00\x00\x00"},
	// with segments left
	{wire.Routing, "\x02\x00\x01\x00\x00\x00\x00"},
	// an atomic fragment
	{wire.FragmentHeader, "\x00\x00\x00\x00\x00\x00\x07"},
	// the first one
	{wire.FragmentHeader, "\x00\x00\x01\x00\x00\x00\x07"},
	// the last one
	{wire.FragmentHeader, "\x00\x00\x10\x00\x00\x00\x07"},
	// one in the middle
	{wire.FragmentHeader, "\x00\x00\x11\x00\x00\x00\x07"},
	// beyond 64 KiB
	{wire.FragmentHeader, "\x00\xff\xf9\x00\x00\x00\x07"},
	{wire.NoNextHeader, ""},
}

// addTo inserts the header behind that of IPv6.
func (e extension) addTo(x *record) {
	nextHeader := &x.frame[wire.EthernetHeader+6]
	own := append([]byte{*nextHeader}, e.rest...)
	*nextHeader = byte(e.protocol)
	at := wire.EthernetHeader + wire.IPv6Header
	x.frame = bytes.Join([][]byte{x.frame[:at], own, x.frame[at:]}, nil)
}

// mutateIPv6 changes a field of the packet p in x, or adds extension headers.
func mutateIPv6(r *rand.Rand, x *record, p []byte) {
	if r.IntN(4) == 0 {
		for range 1 + r.IntN(3) {
			extensions[r.IntN(len(extensions))].addTo(x)
		}
		return
	}
	if len(p) < wire.IPv6Header+wire.TCPHeader {
		return
	}
	switch b := p[wire.IPv6Header:]; wire.Protocol(p[6]) {
	case wire.TCPProtocol:
		mutateSegment(r, x, b)
	case wire.FragmentHeader: // other offset and flag
		binary.BigEndian.PutUint16(b[2:], uint16(r.IntN(3)*r.IntN(200)))
	case wire.ICMPv6Protocol:
		if t := wire.ICMPv6Type(b[0]); t >= wire.RouterSolicit && t <= wire.Redirect6 && r.IntN(2) == 0 {
			b[r.IntN(len(b))] = byte(r.Uint32()) // anything of neighbour discovery
			return
		}
		// other type, code and MTU
		b[0] = []byte{1, 1, 1, 2, 2, 3, 4, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 143}[r.IntN(18)]
		b[1] = byte(r.IntN(16))
		binary.BigEndian.PutUint16(b[6:], mtus[r.IntN(len(mtus))])
	}
}
