package link

import (
	"encoding/binary"

	"weir/wire"
)

// virtio-net's header as tun devices have it before each frame (linux/virtio_net.h, struct
// virtio_net_hdr; Virtual I/O Device 1.2, section 5.1.6), in little-endian order, which OpenTap
// asks for:
//
//	byte 0      flags: the checksum is to be completed, or was found right
//	byte 1      what kind of superframe; none, TCP over IPv4, others that are not asked for; and whether it has CWR
//	bytes 2, 3  length of the headers: a hint
//	bytes 4, 5  payload of each segment
//	bytes 6, 7  where the checksum begins
//	bytes 8, 9  and where it stands, from there
const (
	vnetHeader    = 10
	vnetNeedsSum  = 1
	vnetDataValid = 2
	vnetNone      = 0
	vnetTCPv4     = 1
	vnetECN       = 0x80
)

// parseVnet reads a header and gives the frame behind it, or says that it cannot be.
func parseVnet(b []byte, f *Frame) bool {
	if len(b) < vnetHeader+wire.EthernetHeader {
		return false
	}
	*f = Frame{Bytes: b[vnetHeader:]}
	f.Good = b[0]&(vnetNeedsSum|vnetDataValid) != 0
	if b[0]&vnetNeedsSum != 0 {
		f.Partial = true
		f.Start, f.Offset = int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
		if !f.within(len(f.Bytes)) {
			return false
		}
	}
	switch b[1] &^ vnetECN {
	case vnetNone:
		return true
	case vnetTCPv4:
		f.Size, f.CWR = int(binary.LittleEndian.Uint16(b[4:])), b[1]&vnetECN != 0
		return f.Size > 0 && f.Size < len(f.Bytes)-wire.EthernetHeader
	default:
		return false
	}
}

// putVnet writes the header for a frame that the link takes.
func putVnet(h *[vnetHeader]byte, p *Parts) {
	*h = [vnetHeader]byte{}
	if p.Partial {
		h[0] = vnetNeedsSum
		binary.LittleEndian.PutUint16(h[6:], uint16(p.Start))
		binary.LittleEndian.PutUint16(h[8:], uint16(p.Offset))
	}
	if p.Size > 0 {
		h[1] = vnetTCPv4
		if p.CWR {
			h[1] |= vnetECN
		}
		binary.LittleEndian.PutUint16(h[2:], uint16(min(len(p.Head), p.Start+wire.TCPHeaderLargest)))
		binary.LittleEndian.PutUint16(h[4:], uint16(p.Size))
	}
}
