package tcp

import (
	"testing"
	"time"
)

// carried sends 16 MB over a path of 100 Mbit/s, and gives how much of that came in a second, and
// how large the receiver's buffer has become.
func carried(t *testing.T, delay time.Duration, receive BufferRange) (rate float64, limit int) {
	s := newSim(t, 1)
	s.delay, s.rate = delay, 100e6/8
	s.connect(Config{}, Config{ReceiveBuffer: receive})
	a, b := s.ends[0], s.ends[1]
	a.send = random(16<<20, 1)
	begun := s.now
	s.run(time.Minute, func() bool { return b.received.Len() == len(a.send) })
	return float64(len(a.send)) / s.now.Sub(begun).Seconds(), b.recvLimit
}

// A long path fills its round trip, since the buffer grows by what is read in one; a short path
// needs little, and takes little.
func TestBuffersTuneThemselves(t *testing.T) {
	const path = 100e6 / 8 * 0.1 // bytes under way in a round trip of 100 ms
	first, own := 128<<10, BufferRange{}
	rate, limit := carried(t, 50*time.Millisecond, own)
	if limit < path || rate < 0.5*100e6/8 {
		t.Errorf("over 100 ms %.1f Mbit/s came, the buffer has %d bytes", rate*8/1e6, limit)
	}
	if rate, _ := carried(t, 50*time.Millisecond, BufferRange{first, first}); rate > 1.1*float64(first)/0.1 {
		t.Errorf("%.1f Mbit/s came through a buffer of %d bytes that must not grow", rate*8/1e6, first)
	}
	if rate, limit := carried(t, time.Millisecond, own); limit > 4*first || rate < 0.9*100e6/8 {
		t.Errorf("over 2 ms %.1f Mbit/s came, the buffer has %d bytes", rate*8/1e6, limit)
	}
}
