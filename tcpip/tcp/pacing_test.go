package tcp

import (
	"testing"
	"time"
)

// burst sends 3 MB over a path without loss, and returns the largest burst as a share of the
// congestion window.
func burst(t *testing.T, delay time.Duration) (most float64) {
	s := newSim(t, 1)
	s.delay = delay
	s.connect(Config{Superframe: 60000}, Config{})
	a, b := s.ends[0], s.ends[1]
	a.send = random(3<<20, 1)
	var at Time
	at0 := 0
	s.sends = func(from, bytes int) {
		if from != 0 || a.Conn == nil || a.congestion == nil {
			return
		}
		if s.now != at {
			at, at0 = s.now, 0
		}
		at0 += bytes
		if a.cwnd.size > 2*minPacedCwnd {
			most = max(most, float64(at0)/float64(a.cwnd.size))
		}
	}
	s.run(time.Minute, func() bool { return b.received.Len() == len(a.send) })
	return most
}

// On a long path the window is spread over the round trip. On a short one, all that acknowledgments
// allow is sent at once, in superframes.
func TestLongPathsArePaced(t *testing.T) {
	if most := burst(t, 50*time.Millisecond); most > 0.1 {
		t.Errorf("RTT 100 ms: a burst of %.0f%% of the window, want at most 10%%", 100*most)
	}
	if most := burst(t, time.Millisecond); most < 0.2 {
		t.Errorf("RTT 2 ms: the largest burst is %.0f%% of the window, want at least 20%%", 100*most)
	}
}
