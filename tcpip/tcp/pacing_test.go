package tcp

import (
	"testing"
	"time"
)

// burst sends 3 MB over a path that nothing is lost on, and gives the most that went at once, as a
// share of the window then.
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

// On a long path a window is spread over its round trip; on a short one what acknowledgments allow
// goes at once, in superframes.
func TestLongPathsArePaced(t *testing.T) {
	if most := burst(t, 50*time.Millisecond); most > 0.1 {
		t.Errorf("over 100 ms %.0f%% of a window went at once", 100*most)
	}
	if most := burst(t, time.Millisecond); most < 0.2 {
		t.Errorf("over 2 ms no more than %.0f%% of a window went at once", 100*most)
	}
}
