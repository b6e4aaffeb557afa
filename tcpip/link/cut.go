package link

import (
	"encoding/binary"

	"weir/wire"
)

// cut gives the segments of a superframe of TCP over IPv4, one after the other, as a device would
// send them (the headers are the superframe's, but for lengths, identification, sequence number and
// flags): FIN and PSH on the last one only, CWR on the first one only if f.CWR says so. Their
// checksums are left to be completed, if partial, or complete. It says whether f was one; the
// segments' bytes are emit's until it returns.
func cut(f *Frame, partial bool, emit func(segment *Frame)) bool {
	ip, tcp, ok := superframe(f)
	if !ok {
		return false
	}
	// the packet reaches to the frame's end
	headers := len(f.Bytes) - len(ip.Payload()) + tcp.HeaderLen()
	network := headers - tcp.HeaderLen() - ip.HeaderLen()
	payload := tcp.Payload()
	b := make([]byte, 0, headers+f.Size)
	for at, i := 0, 0; i == 0 || at < len(payload); i++ {
		piece := payload[at:min(at+f.Size, len(payload))]
		s := Frame{Bytes: append(append(b[:0], f.Bytes[:headers]...), piece...), Offload: f.Offload}
		s.Size, s.CWR = 0, false
		h := segment{ip: s.Bytes[network:], tcp: s.Bytes[headers-tcp.HeaderLen():]}
		h.number(tcp.Seq().Add(at), ip.ID()+uint16(i))
		h.flags(f.CWR, i == 0, at+len(piece) == len(payload))
		s.Start, s.Offset, s.Partial = headers-tcp.HeaderLen(), tcpChecksum, partial
		h.sum(partial)
		emit(&s)
		at += len(piece)
	}
	return true
}

// tcpChecksum is where the checksum stands in a TCP header.
const tcpChecksum = 16

// superframe is the packet and the segment in a superframe, if it is one of TCP over IPv4 and
// whole.
func superframe(f *Frame) (wire.IPv4, wire.TCP, bool) {
	e, fault := wire.ParseEthernet(f.Bytes)
	if f.Size <= 0 || fault != wire.OK || e.Type() != wire.TypeIPv4 {
		return nil, nil, false
	}
	ip, fault := wire.ParseIPv4(e.Payload())
	if fault != wire.OK || ip.Fragment() || ip.Protocol() != wire.TCPProtocol || len(ip) != len(e.Payload()) {
		return nil, nil, false
	}
	tcp, fault := wire.ParseTCP(ip.Payload())
	return ip, tcp, fault == wire.OK
}

// segment is one in the making: its packet, and its TCP header with payload.
type segment struct{ ip, tcp []byte }

func (s segment) number(seq wire.Seq, id uint16) {
	binary.BigEndian.PutUint16(s.ip[2:], uint16(len(s.ip)))
	binary.BigEndian.PutUint16(s.ip[4:], id)
	binary.BigEndian.PutUint32(s.tcp[4:], uint32(seq))
}

func (s segment) flags(cwr, first, last bool) {
	if !last {
		s.tcp[13] &^= byte(wire.FIN | wire.PSH)
	}
	if cwr && !first {
		s.tcp[13] &^= byte(wire.CWR)
	}
}

// sum puts both checksums, or of TCP's the pseudo-header's sum.
func (s segment) sum(partial bool) {
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
