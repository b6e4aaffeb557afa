package link

import (
	"encoding/binary"

	"weir/wire"
)

// The virtio-net header that precedes each frame of a tun device (linux/virtio_net.h, struct
// virtio_net_hdr; Virtual I/O Device 1.2, section 5.1.6), in little-endian order, which OpenTap
// sets:
//
//	byte 0      flags: the checksum must be completed, or is valid
//	byte 1      GSO type: none, TCP over IPv4 or IPv6, or one not enabled; and the CWR flag
//	bytes 2, 3  length of the headers, a hint
//	bytes 4, 5  payload of each segment
//	bytes 6, 7  start of the bytes under the checksum (csum_start)
//	bytes 8, 9  offset of the checksum from there (csum_offset)
const (
	vnetHeader    = 10
	vnetNeedsSum  = 1
	vnetDataValid = 2
	vnetNone      = 0
	vnetTCPv4     = 1
	vnetTCPv6     = 4
	vnetECN       = 0x80
)

// parseVnet parses a header and the frame after it, and reports whether they are valid.
func parseVnet(b []byte, f *Frame, m Medium) bool {
	if len(b) < vnetHeader+m.minFrame() {
		return false
	}
	*f = Frame{Bytes: b[vnetHeader:]}
	f.ChecksumOK = b[0]&(vnetNeedsSum|vnetDataValid) != 0
	if b[0]&vnetNeedsSum != 0 {
		f.ChecksumPartial = true
		f.ChecksumStart, f.ChecksumOffset = int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
		if !f.checksumWithin(len(f.Bytes), m) {
			return false
		}
	}
	switch b[1] &^ vnetECN {
	case vnetNone:
		return true
	case vnetTCPv4, vnetTCPv6:
		f.SegmentSize, f.CWR = int(binary.LittleEndian.Uint16(b[4:])), b[1]&vnetECN != 0
		return f.SegmentSize > 0 && f.SegmentSize < len(f.Bytes)-m.HeaderLen()
	default:
		return false
	}
}

// putVnet writes the header for a frame that the link accepts.
func putVnet(h *[vnetHeader]byte, p *Parts, m Medium) {
	*h = [vnetHeader]byte{}
	if p.ChecksumPartial {
		h[0] = vnetNeedsSum
		binary.LittleEndian.PutUint16(h[6:], uint16(p.ChecksumStart))
		binary.LittleEndian.PutUint16(h[8:], uint16(p.ChecksumOffset))
	}
	if p.SegmentSize > 0 {
		h[1] = vnetTCPv4
		if p.byteAt(m.HeaderLen())>>4 == 6 {
			h[1] = vnetTCPv6
		}
		if p.CWR {
			h[1] |= vnetECN
		}
		binary.LittleEndian.PutUint16(h[2:], uint16(min(len(p.Head), p.ChecksumStart+wire.TCPHeaderLargest)))
		binary.LittleEndian.PutUint16(h[4:], uint16(p.SegmentSize))
	}
}
