package tcp

import (
	"fmt"
	"testing"
	"time"

	"weir/wire"
)

// BenchmarkSACK measures an acknowledgment with three new SACK blocks, and what is sent for it, by
// the window in flight: of every second byte, which covers no whole segment, and of every second
// segment, so that half of the window is lost. The cost must not grow with the window.
func BenchmarkSACK(b *testing.B) {
	for _, stride := range []int{2, 2 * 1460} {
		for _, window := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("every=%d/MiB=%d", stride, window), func(b *testing.B) { benchmarkSACK(b, stride, window<<20) })
		}
	}
}

func benchmarkSACK(b *testing.B, stride, window int) {
	var c *Conn
	var now Time
	at := window
	silent := func(*OutSegment) {}
	for b.Loop() {
		if at+3*stride >= window {
			b.StopTimer()
			c, now, at = fullFlight(window), Time(2*time.Hour), 1460
			b.StartTimer()
		}
		s := Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(1), Flags: wire.ACK, Window: 65535}
		for i := range 3 {
			first := ourISS.Add(1 + at + i*stride)
			s.Options.SACK[i] = wire.Block{First: first, End: first.Add(stride / 2)}
		}
		s.Options.SACKCount = 3
		at += 3 * stride
		now = now.Add(time.Microsecond)
		c.Arrive(now, &s)
		c.Output(now, silent)
	}
}

// fullFlight returns a connection with a window in flight, in superframes.
func fullFlight(window int) *Conn {
	cfg := Config{Superframe: 62780, SendBuffer: BufferRange{2 * window, 2 * window}}.WithDefaults()
	now := Time(time.Hour)
	syn := Segment{Seq: peerISS, Flags: wire.SYN, Window: 65535}
	syn.Options = wire.TCPOptions{MSS: 1460, SACKPermitted: true, HasWindowScale: true, WindowScale: 14}
	c := Accept(&cfg, ourISS, 0, &syn, now)
	silent := func(*OutSegment) {}
	c.Output(now, silent)
	c.Arrive(now.Add(time.Millisecond), &Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(1), Flags: wire.ACK, Window: 65535})
	c.cwnd.size = window
	c.Write(now, make([]byte, window))
	c.Output(now.Add(time.Millisecond), silent)
	return c
}
