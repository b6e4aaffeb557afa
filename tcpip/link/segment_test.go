package link

import (
	"bytes"
	"testing"

	"weir/wire"
)

// segments returns copies of the segments of a frame.
func segments(f *Frame, partial bool) (all []Frame, ok bool) {
	ok = segmentSuperframe(f, Ethernet, partial, func(s *Frame) { all = append(all, Frame{Bytes: bytes.Clone(s.Bytes), Offload: s.Offload}) })
	return all, ok
}

func TestASuperframeIsCutIntoValidSegments(t *testing.T) {
	const all = wire.FIN | wire.PSH | wire.ACK | wire.CWR | wire.URG
	for name, c := range map[string]struct {
		payload, size       int
		cwr, partial        bool
		n                   int
		first, middle, last wire.Flags
	}{
		"three and a bit":       {3001, 1000, false, false, 4, wire.ACK | wire.CWR | wire.URG, wire.ACK | wire.CWR | wire.URG, all},
		"three":                 {3000, 1000, false, false, 3, wire.ACK | wire.CWR | wire.URG, wire.ACK | wire.CWR | wire.URG, all},
		"CWR on the first only": {3000, 1000, true, false, 3, wire.ACK | wire.CWR | wire.URG, wire.ACK | wire.URG, all &^ wire.CWR},
		"checksums left":        {65000, 1448, false, true, 45, wire.ACK | wire.CWR | wire.URG, wire.ACK | wire.CWR | wire.URG, all},
		"one":                   {1000, 1000, true, false, 1, all, all, all},
		"no payload":            {0, 1000, true, false, 1, all, all, all},
	} {
		t.Run(name, func(t *testing.T) {
			p := supers(c.payload, c.size, all)
			p.CWR = c.cwr
			f := Frame{Bytes: p.AppendTo(nil), Offload: p.Offload}
			got, ok := segments(&f, c.partial)
			if !ok || len(got) != c.n {
				t.Fatalf("%d segments (%v), want %d", len(got), ok, c.n)
			}
			var payload []byte
			for i, s := range got {
				ip, tcp := checked(t, &s, c.partial)
				flags := c.middle
				if i == 0 {
					flags = c.first
				}
				if i == c.n-1 {
					flags = c.last
				}
				if tcp.Flags() != flags || tcp.Seq() != wire.Seq(0xfffff000).Add(len(payload)) || ip.ID() != 0xfffe+uint16(i) || len(tcp.Payload()) > c.size {
					t.Errorf("segment %d: got flags %v, sequence number %d, ID %d and %d bytes; want %v, %d, %d and at most %d", i, tcp.Flags(), tcp.Seq(), ip.ID(), len(tcp.Payload()), flags, wire.Seq(0xfffff000).Add(len(payload)), 0xfffe+uint16(i), c.size)
				}
				payload = append(payload, tcp.Payload()...)
			}
			if !bytes.Equal(payload, f.Bytes[len(p.Head):]) {
				t.Errorf("the segments have a payload of %d bytes that differs from the superframe's, want its %d bytes", len(payload), len(f.Bytes)-len(p.Head))
			}
		})
	}
}

// checked returns a segment's packet and TCP header after verifying lengths and checksums.
func checked(t *testing.T, s *Frame, partial bool) (wire.IPv4, wire.TCP) {
	t.Helper()
	e, _ := wire.ParseEthernet(s.Bytes)
	ip, fault := wire.ParseIPv4(e.Payload())
	if fault != wire.OK || len(ip) != len(e.Payload()) || !ip.ChecksumOK() {
		t.Fatalf("a segment's packet of %d bytes: got fault %v, want a valid header, checksum and length in %d bytes", len(ip), fault, len(e.Payload()))
	}
	if partial != s.ChecksumPartial || s.SegmentSize != 0 || s.CWR || !s.checksumWithin(len(s.Bytes), Ethernet) {
		t.Fatalf("a segment: got the offload %+v, want no superframe and a checksum that is partial: %t", s.Offload, partial)
	}
	if partial { // as a device does
		at := s.ChecksumStart + s.ChecksumOffset
		sum := wire.Sum{}.Add(s.Bytes[s.ChecksumStart:]).Checksum()
		s.Bytes[at], s.Bytes[at+1] = byte(sum>>8), byte(sum)
	}
	tcp, fault := wire.ParseTCP(ip.Payload())
	if fault != wire.OK || !tcp.ChecksumOK(ip.Src(), ip.Dst()) {
		t.Fatalf("a segment: got fault %v, want a valid TCP header and checksum", fault)
	}
	return ip, tcp
}

// FuzzCut checks that valid segments contain the whole payload, each at most SegmentSize bytes of
// it.
func FuzzCut(f *testing.F) {
	f.Add(supers(3001, 1000, wire.ACK).AppendTo(nil), uint16(1000))
	f.Add(supers(0, 1, wire.FIN).AppendTo(nil), uint16(1))
	f.Add(frame(1, 100), uint16(10))
	f.Fuzz(func(t *testing.T, b []byte, size uint16) {
		if len(b) > 4096 {
			return // one byte a segment takes too long
		}
		all, ok := segments(&Frame{Bytes: b, Offload: Offload{SegmentSize: int(size), ChecksumPartial: true}}, false)
		if !ok {
			return
		}
		var payload []byte
		for i := range all {
			_, tcp := checked(t, &all[i], false)
			payload = append(payload, tcp.Payload()...)
		}
		if !bytes.HasSuffix(b, payload) {
			t.Errorf("the segments have a payload of %d bytes that differs from the superframe's, want its last bytes", len(payload))
		}
	})
}
