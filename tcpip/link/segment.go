package link

import (
	"encoding/binary"

	"weir/wire"
)

// segmentSuperframe calls emit with each segment of a superframe of TCP over IPv4, in order, as a
// device would send them. Headers are copied except for lengths, identification, sequence number
// and flags. FIN and PSH are on the last segment only; CWR is on the first only if f.CWR is set.
// Checksums are partial if partial is set, otherwise complete. It reports whether f was a
// superframe. A segment's bytes are valid until emit returns.
func segmentSuperframe(f *Frame, partial bool, emit func(segment *Frame)) bool {
	ip, tcp, ok := parseSuperframe(f)
	if !ok {
		return false
	}
	// the packet ends where the frame ends
	headers := len(f.Bytes) - len(ip.Payload()) + tcp.HeaderLen()
	network := headers - tcp.HeaderLen() - ip.HeaderLen()
	payload := tcp.Payload()
	b := make([]byte, 0, headers+f.SegmentSize)
	for at, i := 0, 0; i == 0 || at < len(payload); i++ {
		piece := payload[at:min(at+f.SegmentSize, len(payload))]
		s := Frame{Bytes: append(append(b[:0], f.Bytes[:headers]...), piece...), Offload: f.Offload}
		s.SegmentSize, s.CWR = 0, false
		h := segment{ip: s.Bytes[network:], tcp: s.Bytes[headers-tcp.HeaderLen():]}
		h.setNumbers(tcp.Seq().Add(at), ip.ID()+uint16(i))
		h.setFlags(f.CWR, i == 0, at+len(piece) == len(payload))
		s.ChecksumStart, s.ChecksumOffset, s.ChecksumPartial = headers-tcp.HeaderLen(), tcpChecksum, partial
		h.setChecksums(partial)
		emit(&s)
		at += len(piece)
	}
	return true
}

// tcpChecksum is the offset of the checksum in a TCP header.
const tcpChecksum = 16

// parseSuperframe returns the packet and the segment in a superframe. ok is false unless it is a
// whole packet of TCP over IPv4.
func parseSuperframe(f *Frame) (ip wire.IPv4, tcp wire.TCP, ok bool) {
	e, fault := wire.ParseEthernet(f.Bytes)
	if f.SegmentSize <= 0 || fault != wire.OK || e.Type() != wire.TypeIPv4 {
		return nil, nil, false
	}
	ip, fault = wire.ParseIPv4(e.Payload())
	if fault != wire.OK || ip.IsFragment() || ip.Protocol() != wire.TCPProtocol || len(ip) != len(e.Payload()) {
		return nil, nil, false
	}
	tcp, fault = wire.ParseTCP(ip.Payload())
	return ip, tcp, fault == wire.OK
}

// segment is a segment under construction: its packet, and its TCP header with payload.
type segment struct{ ip, tcp []byte }

func (s segment) setNumbers(seq wire.Seq, id uint16) {
	binary.BigEndian.PutUint16(s.ip[2:], uint16(len(s.ip)))
	binary.BigEndian.PutUint16(s.ip[4:], id)
	binary.BigEndian.PutUint32(s.tcp[4:], uint32(seq))
}

func (s segment) setFlags(cwr, first, last bool) {
	if !last {
		s.tcp[13] &^= byte(wire.FIN | wire.PSH)
	}
	if cwr && !first {
		s.tcp[13] &^= byte(wire.CWR)
	}
}

// setChecksums sets both checksums; TCP's is the pseudo-header's sum if partial.
func (s segment) setChecksums(partial bool) {
	ip := wire.IPv4(s.ip)
	header := s.ip[:ip.HeaderLen()]
	binary.BigEndian.PutUint16(header[10:], 0)
	binary.BigEndian.PutUint16(header[10:], wire.Sum{}.Add(header).Checksum())
	pseudo := wire.Sum{}.Pseudo(ip.Src(), ip.Dst(), wire.TCPProtocol, len(s.tcp))
	binary.BigEndian.PutUint16(s.tcp[tcpChecksum:], 0)
	sum := pseudo.Partial()
	if !partial {
		sum = pseudo.Add(s.tcp).Checksum()
	}
	binary.BigEndian.PutUint16(s.tcp[tcpChecksum:], sum)
}
