package tcp

import (
	"testing"
	"time"
)

// bulkTransfer sends 16 MB over a path of 100 Mbit/s, and returns the rate in bytes a second and
// the final limit of the receive buffer.
func bulkTransfer(t *testing.T, delay time.Duration, receive BufferRange) (rate float64, limit int) {
	s := newSim(t, 1)
	s.delay, s.rate = delay, 100e6/8
	s.connect(Config{}, Config{ReceiveBuffer: receive})
	a, b := s.ends[0], s.ends[1]
	a.send = random(16<<20, 1)
	start := s.now
	s.run(time.Minute, func() bool { return b.received.Len() == len(a.send) })
	return float64(len(a.send)) / s.now.Sub(start).Seconds(), b.recvLimit
}

// On a long path the receive buffer grows to the bandwidth-delay product; on a short one it stays
// small.
func TestReceiveBufferIsTuned(t *testing.T) {
	const path = 100e6 / 8 * 0.1 // bandwidth-delay product of 100 ms, in bytes
	first, own := 128<<10, BufferRange{}
	rate, limit := bulkTransfer(t, 50*time.Millisecond, own)
	if limit < path || rate < 0.5*100e6/8 {
		t.Errorf("RTT 100 ms: %.1f Mbit/s with a buffer of %d bytes, want half the rate and the whole product", rate*8/1e6, limit)
	}
	if rate, _ := bulkTransfer(t, 50*time.Millisecond, BufferRange{first, first}); rate > 1.1*float64(first)/0.1 {
		t.Errorf("RTT 100 ms: %.1f Mbit/s with a fixed buffer of %d bytes, want at most one buffer a round trip", rate*8/1e6, first)
	}
	if rate, limit := bulkTransfer(t, time.Millisecond, own); limit > 4*first || rate < 0.9*100e6/8 {
		t.Errorf("RTT 2 ms: %.1f Mbit/s with a buffer of %d bytes, want nine tenths of the rate and a small buffer", rate*8/1e6, limit)
	}
}
