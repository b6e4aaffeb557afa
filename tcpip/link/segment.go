package link

import (
	"encoding/binary"

	"weir/wire"
)

// segmentSuperframe calls emit with each segment of a superframe of TCP on a medium, in order, as a
// device would send them. Headers are copied except for lengths, identification, sequence number
// and flags. FIN and PSH are on the last segment only; CWR is on the first only if f.CWR is set.
// Checksums are partial if partial is set, otherwise complete. It reports whether f was a
// superframe. A segment's bytes are valid until emit returns.
func segmentSuperframe(f *Frame, m Medium, partial bool, emit func(segment *Frame)) bool {
	whole, ok := parseSuperframe(f, m)
	if !ok {
		return false
	}
	headers := whole.transport + whole.tcp.HeaderLen()
	payload := f.Bytes[headers:] // the packet ends where the frame ends
	b := make([]byte, 0, headers+f.SegmentSize)
	for at, i := 0, 0; i == 0 || at < len(payload); i++ {
		piece := payload[at:min(at+f.SegmentSize, len(payload))]
		s := Frame{Bytes: append(append(b[:0], f.Bytes[:headers]...), piece...), Offload: f.Offload}
		s.SegmentSize, s.CWR = 0, false
		h := segment{ip: s.Bytes[whole.network:], tcp: s.Bytes[whole.transport:]}
		h.setNumbers(whole.tcp.Seq().Add(at), i)
		h.setFlags(f.CWR, i == 0, at+len(piece) == len(payload))
		s.ChecksumStart, s.ChecksumOffset, s.ChecksumPartial = whole.transport, tcpChecksum, partial
		h.setChecksums(partial)
		emit(&s)
		at += len(piece)
	}
	return true
}

// tcpChecksum is the offset of the checksum in a TCP header.
const tcpChecksum = 16

// superframe is a parsed superframe.
type superframe struct {
	network, transport int // offsets of the IP and the TCP header in the frame
	tcp                wire.TCP
}

// parseSuperframe parses a superframe. ok is false unless it is a whole packet of TCP.
func parseSuperframe(f *Frame, m Medium) (s superframe, ok bool) {
	if f.SegmentSize <= 0 {
		return s, false
	}
	if m == Ethernet {
		e, fault := wire.ParseEthernet(f.Bytes)
		if fault != wire.OK || e.Type() != wire.TypeIPv4 && e.Type() != wire.TypeIPv6 {
			return s, false
		}
		s.network = len(e) - len(e.Payload())
	}
	packet := f.Bytes[s.network:]
	header, ok := tcpHeaderOffset(packet)
	if !ok {
		return s, false
	}
	s.transport = s.network + header
	var fault wire.Fault
	s.tcp, fault = wire.ParseTCP(packet[header:])
	return s, fault == wire.OK
}

// tcpHeaderOffset returns the offset of the TCP header in a whole packet of TCP of either family,
// without IPv6 extension headers; ok is false for other packets.
func tcpHeaderOffset(packet []byte) (at int, ok bool) {
	if v, fault := wire.ParseIPv4(packet); fault == wire.OK {
		return v.HeaderLen(), !v.IsFragment() && v.Protocol() == wire.TCPProtocol && len(v) == len(packet)
	}
	v, fault := wire.ParseIPv6(packet)
	return wire.IPv6Header, fault == wire.OK && v.NextHeader() == wire.TCPProtocol && len(v) == len(packet)
}

// segment is a segment under construction: its packet, and its TCP header with payload.
type segment struct{ ip, tcp []byte }

// setNumbers sets the lengths, the sequence number, and the identification of the segment with that
// index: they are consecutive.
func (s segment) setNumbers(seq wire.Seq, index int) {
	if s.ip[0]>>4 == 6 {
		binary.BigEndian.PutUint16(s.ip[4:], uint16(len(s.ip)-wire.IPv6Header))
	} else {
		binary.BigEndian.PutUint16(s.ip[2:], uint16(len(s.ip)))
		binary.BigEndian.PutUint16(s.ip[4:], wire.IPv4(s.ip).ID()+uint16(index))
	}
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

// setChecksums sets the checksums; TCP's is the pseudo-header's sum if partial.
func (s segment) setChecksums(partial bool) {
	pseudo := wire.Sum{}
	if s.ip[0]>>4 == 6 {
		v := wire.IPv6(s.ip)
		pseudo = pseudo.Pseudo(v.Src(), v.Dst(), wire.TCPProtocol, len(s.tcp))
	} else {
		v := wire.IPv4(s.ip)
		header := s.ip[:v.HeaderLen()]
		binary.BigEndian.PutUint16(header[10:], 0)
		binary.BigEndian.PutUint16(header[10:], wire.Sum{}.Add(header).Checksum())
		pseudo = pseudo.Pseudo(v.Src(), v.Dst(), wire.TCPProtocol, len(s.tcp))
	}
	binary.BigEndian.PutUint16(s.tcp[tcpChecksum:], 0)
	sum := pseudo.Partial()
	if !partial {
		sum = pseudo.Add(s.tcp).Checksum()
	}
	binary.BigEndian.PutUint16(s.tcp[tcpChecksum:], sum)
}
