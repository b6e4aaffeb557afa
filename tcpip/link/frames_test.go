package link

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"weir/wire"
)

// waitLimit is how long a test waits for an expected frame.
const waitLimit = 30 * time.Second

// typeTest is for experiments on one machine or network (IEEE 802, 9.2.4).
const typeTest wire.EtherType = 0x88b5

// frame returns the nth frame of a test, n bytes long (16 at least), with bytes that depend on
// both.
func frame(nth, n int) []byte {
	b := wire.AppendEthernet(nil, wire.Broadcast, wire.MAC{2, 0, 0, 0, 0, 9}, typeTest)
	b = binary.BigEndian.AppendUint16(b, uint16(nth))
	for i := len(b); i < n; i++ {
		b = append(b, byte(i*7+nth))
	}
	return b
}

// inParts returns a frame in three parts.
func inParts(b []byte) *Parts {
	middle := 14 + (len(b)-14)/2
	return &Parts{Head: b[:14], Body: [2][]byte{b[14:middle], b[middle:]}}
}

// supers returns a superframe of TCP over IPv4 with so many bytes of payload, and its headers'
// length.
func supers(payload, size int, flags wire.Flags) *Parts {
	f := wire.TCPFields{Src: netip.MustParseAddrPort("10.9.0.1:1000"), Dst: netip.MustParseAddrPort("10.9.0.2:2000"), Seq: 0xfffff000, Ack: 7, Flags: flags, Window: 500,
		Options: []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}}
	b := wire.AppendEthernet(nil, wire.MAC{2, 0, 0, 0, 0, 8}, wire.MAC{2, 0, 0, 0, 0, 9}, wire.TypeIPv4)
	b = wire.AppendIPv4(b, &wire.IPv4Fields{ID: 0xfffe, DontFragment: true, TTL: 64, Protocol: wire.TCPProtocol, Src: f.Src.Addr(), Dst: f.Dst.Addr(), Payload: wire.TCPHeader + len(f.Options) + payload})
	start := len(b)
	body := make([]byte, payload)
	for i := range body {
		body[i] = byte(i * 13 >> 3)
	}
	return &Parts{Head: wire.AppendTCPPartial(b, &f, payload), Body: [2][]byte{body[:payload/3], body[payload/3:]},
		Offload: Offload{SegmentSize: size, ChecksumPartial: true, ChecksumStart: start, ChecksumOffset: tcpChecksum}}
}

// want reads n frames of a test's type within waitLimit, and returns copies.
func want(t testing.TB, q Queue, n int) (got [][]byte) {
	t.Helper()
	batch := make([]Frame, 32)
	for end := time.Now().Add(waitLimit); len(got) < n; {
		k, err := q.Read(batch[:min(len(batch), n-len(got))], max(0, time.Until(end)))
		if err != nil {
			t.Fatalf("after %d of %d frames: got error %v, want the other frames", len(got), n, err)
		}
		for _, f := range batch[:k] {
			if e, fault := wire.ParseEthernet(f.Bytes); fault == wire.OK && e.Type() == typeTest {
				got = append(got, bytes.Clone(f.Bytes))
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%d frames have come, want %d", len(got), n)
		}
	}
	return got
}

// same compares frames.
func same(t testing.TB, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("frame %d is %d bytes %.40x…, want %d bytes %.40x…", i, len(got[i]), got[i], len(want[i]), want[i])
		}
	}
}
