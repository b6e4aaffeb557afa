package tcp

import (
	"testing"
	"time"
)

// On a long path with a deep queue, slow start fills the path but not the queue. In the first 6 s
// segments wait for less than a quarter of the round trip on average, and at least 65 % of the
// capacity is used: slow start takes 1.6 s.
func TestSlowStartDoesNotFillTheQueueOfALongPath(t *testing.T) {
	const rate, lasts = 50e6 / 8, 6 * time.Second
	s := newSim(t, 1)
	s.delay, s.rate, s.room = 100*time.Millisecond, rate, 4<<20
	s.connect(Config{}, Config{})
	s.ends[0].send = make([]byte, 64<<20)
	var waited time.Duration
	segments := 0
	s.sends = func(from, bytes int) {
		if from == 0 && bytes > 0 {
			waited += max(0, s.busy[0].Sub(s.now))
			segments++
		}
	}
	until := s.now.Add(lasts)
	s.run(time.Minute, func() bool { return s.now >= until })
	if mean := waited / time.Duration(segments); mean > s.delay/2 {
		t.Errorf("segments waited in the queue for %v on average, want less than %v", mean, s.delay/2)
	}
	if share := float64(s.ends[1].received.Len()) / rate / lasts.Seconds(); share < 0.65 {
		t.Errorf("%.2f of the capacity was used, want 0.65", share)
	}
}
