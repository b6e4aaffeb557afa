package tcp

import (
	"testing"
	"time"

	"weir/wire"
)

// A peer that SACKs every second byte must not make this end keep a record of each byte.
func TestSACKDoesNotSplitTheFlightIntoBytes(t *testing.T) {
	const bytes = 200_000
	cfg := Config{Superframe: 60000, SendBuffer: BufferRange{1 << 20, 1 << 20}}.WithDefaults()
	now := Time(time.Hour)
	syn := Segment{Seq: peerISS, Flags: wire.SYN, Window: 65535}
	syn.Options = wire.TCPOptions{MSS: 1460, SACKPermitted: true, HasWindowScale: true, WindowScale: 8}
	c := Accept(&cfg, ourISS, 0, &syn, now)
	silent := func(*OutSegment) {}
	c.Output(now, silent)
	c.Arrive(now, &Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(1), Flags: wire.ACK, Window: 65535})
	c.cwnd.size = 1 << 20
	c.Write(now, make([]byte, bytes))
	c.Output(now, silent)
	for at := 2; at+6 < bytes; at += 6 {
		s := Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(1), Flags: wire.ACK, Window: 65535}
		for i := range 3 {
			s.Options.SACK[i] = wire.Block{First: ourISS.Add(at + 2*i), End: ourISS.Add(at + 2*i + 1)}
		}
		s.Options.SACKCount = 3
		c.Arrive(now, &s)
	}
	pieces := 0
	for i := range c.flight.slots {
		pieces += c.flight.pieceCount(i)
	}
	if pieces > bytes/1000 {
		t.Errorf("%d bytes in flight are kept as %d pieces, want one per segment at most", bytes, pieces)
	}
}

// A peer with a tiny MSS must not make this end keep a record of each byte of a large window. The
// rest is sent after acknowledgments.
func TestTinySegmentsInFlightAreBounded(t *testing.T) {
	const bytes = 1 << 20
	cfg := Config{SendBuffer: BufferRange{bytes, bytes}}.WithDefaults()
	now := Time(time.Hour)
	syn := Segment{Seq: peerISS, Flags: wire.SYN, Window: 65535}
	syn.Options = wire.TCPOptions{MSS: 1, SACKPermitted: true, HasWindowScale: true, WindowScale: 14}
	c := Accept(&cfg, ourISS, 0, &syn, now)
	sent := 0
	count := func(o *OutSegment) { sent += o.Len() }
	c.Output(now, count)
	ack := func() {
		c.Arrive(now, &Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(1 + sent), Flags: wire.ACK, Window: 65535})
		c.cwnd.size = 2 * bytes
	}
	ack()
	c.Write(now, make([]byte, bytes))
	for rounds := 0; sent < bytes; rounds++ {
		before := sent
		c.Output(now, count)
		if n := c.flight.slotCount(); n > maxSlots || sent == before {
			t.Fatalf("round %d: %d slots are in flight after %d bytes, want at most %d, and progress", rounds, n, sent-before, maxSlots)
		}
		ack()
	}
}
