package tcp

import (
	"math"
	"testing"
	"time"
)

const testRTT = 100 * time.Millisecond

// round acknowledges a window, segment by segment, in a round trip, and gives the time behind it.
func round(c congestionControl, w *congestionWindow, now Time, rtt time.Duration) Time {
	w.srtt = rtt
	for n, size := 0, w.size; n < size; n += w.mss {
		c.onAck(w, ackEvent{now: now.Add(time.Duration(float64(rtt) * float64(n) / float64(size))), bytes: w.mss, rtt: rtt, roundStart: n == 0})
	}
	return now.Add(rtt)
}

// After a loss CUBIC is back at its window of before after K seconds, slowly near it, and beyond it
// faster and faster (RFC 9438, sections 4.2 and 4.6).
func TestCubicGoesBackToWhereItWas(t *testing.T) {
	const before = 1000 // segments
	c, w := &cubic{}, newCongestionWindow(1000)
	w.size, w.ssthresh = before*w.mss, before*w.mss
	c.wMax = before
	now := Time(time.Hour)
	w.ssthresh = c.onLoss(&w, now)
	w.size = w.ssthresh
	if got := w.size / w.mss; got != 700 {
		t.Errorf("after a loss %d segments, want 700", got)
	}
	k := math.Cbrt(before * 0.3 / cubicC)
	for at, want := range map[float64][2]int{0.5 * k: {960, 970}, k: {990, 1010}, 1.5 * k: {1030, 1050}, 2 * k: {1250, 1350}} {
		c, w, now := *c, w, now
		for end := now.Add(time.Duration(at * float64(time.Second))); now < end; {
			now = round(&c, &w, now, testRTT)
		}
		if got := w.size / w.mss; got < want[0] || got > want[1] {
			t.Errorf("after %.1f s %d segments, want %d to %d", at, got, want[0], want[1])
		}
	}
}

// A second loss below the window of before makes room for others (RFC 9438, section 4.7), and a
// loss that was none is taken back (section 4.9).
func TestCubicMakesRoomAndGoesBack(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	c.wMax = 1000
	w.size = 800 * w.mss
	if c.onLoss(&w, 1); c.wMax != 800*(1+cubicBeta)/2 {
		t.Errorf("fast convergence goes back to %v", c.wMax)
	}
	c.undo()
	if c.wMax != 1000 {
		t.Errorf("taken back it is %v", c.wMax)
	}
}

// After silence the window before counts no more: it grows from where slow start ends (RFC 9438,
// section 4.8). That is taken back, too.
func TestCubicAfterSilence(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	w.size, c.wMax = 100*w.mss, 100
	w.ssthresh = c.onLoss(&w, Time(time.Hour))
	c.onTimeout()
	w.size = w.ssthresh
	begun := float64(w.size) / float64(w.mss)
	round(c, &w, Time(time.Hour), testRTT)
	if c.k != 0 || c.wMax != begun {
		t.Errorf("it goes back to %v segments in %v s, want %v in 0", c.wMax, c.k, begun)
	}
	if c.undo(); c.wMax != 100 {
		t.Errorf("taken back it is %v", c.wMax)
	}
}

// A window that made room for others still grows with CUBIC's own factor up to where it was, and as
// Reno's from there (RFC 9438, section 4.3).
func TestCubicGrowsAsRenoFromWhereItWas(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	w.size, c.wMax = 20*w.mss, 30 // so that it goes back to 17 only
	w.ssthresh = c.onLoss(&w, Time(time.Hour))
	w.size = w.ssthresh
	now := Time(time.Hour)
	for c.wEst < 19 {
		now = round(c, &w, now, 10*time.Millisecond)
	}
	before := c.wEst
	if round(c, &w, now, 10*time.Millisecond); c.wEst-before > 0.7 {
		t.Errorf("from %.1f segments the estimate grew by %.2f in a round, want 0.53: the window was 20", before, c.wEst-before)
	}
}

// Where windows are small CUBIC grows as Reno does: as much in a round as Reno with its factors
// (RFC 9438, section 4.3).
func TestCubicIsAsFastAsReno(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	w.size, c.wMax = 20*w.mss, 20
	w.ssthresh = c.onLoss(&w, Time(time.Hour))
	w.size = w.ssthresh
	begun, now := w.size, Time(time.Hour)
	for range 10 {
		now = round(c, &w, now, 10*time.Millisecond)
	}
	if grown := float64(w.size-begun) / float64(w.mss); grown < 4 || grown > 7 {
		t.Errorf("it has grown by %.1f segments in 10 rounds, want about 5.3", grown)
	}
}

// Reno grows by a segment in a round, and halves (RFC 5681, section 3.1).
func TestReno(t *testing.T) {
	c, w := &reno{}, newCongestionWindow(1000)
	w.size, w.ssthresh = 20*w.mss, 10*w.mss
	now := Time(time.Hour)
	for range 10 {
		now = round(c, &w, now, testRTT)
	}
	if got := w.size / w.mss; got != 30 {
		t.Errorf("after 10 rounds %d segments, want 30", got)
	}
	if got := c.onLoss(&w, now) / w.mss; got != 15 {
		t.Errorf("a loss leaves %d segments, want 15", got)
	}
	w.size = 3 * w.mss
	if got := c.onLoss(&w, now) / w.mss; got != minCwndSegments {
		t.Errorf("a loss leaves %d segments at least, want %d", got, minCwndSegments)
	}
}

// On a short path slow start doubles in a round. When round trips grow longer it grows by a quarter
// of that, and after five such rounds it ends; when they were longer for another reason, it goes on
// (RFC 9406, section 4.2).
func TestHyStart(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	now := Time(time.Hour)
	for _, r := range []struct {
		rtt  time.Duration
		want float64 // how many times as large
		css  bool
	}{
		{2, 2, false}, {2, 2, false}, {3, 2, false}, {8, 1.3, true}, {8, 1.25, true}, {2, 2, false}, {7, 1.3, true},
		{8, 1.25, true}, {8, 1.25, true}, {8, 1.25, true}, {8, 1.25, true},
	} {
		before := w.size
		now = round(c, &w, now, r.rtt*time.Millisecond)
		if got := float64(w.size) / float64(before); got < r.want-0.1 || got > r.want+0.1 || c.inCSS != r.css {
			t.Errorf("a round of %d ms makes %.2f times as much, want %.2f, slower %t", r.rtt, got, r.want, c.inCSS)
		}
	}
	before := w.size
	round(c, &w, now, 8*time.Millisecond)
	if w.inSlowStart() || float64(w.size) > 1.1*float64(before) {
		t.Errorf("slow start has not ended: %d of %d", w.size, w.ssthresh)
	}
}

// On a long path a delay is known a round trip late, and slow start has doubled the window by then:
// it goes back to what was under way when the delay began. When it comes back as the window grows
// again, slow start ends where the path is full; otherwise it goes on when the window is what it
// was.
func TestHyStartGoesBackOnALongPath(t *testing.T) {
	const base, longer = 200 * time.Millisecond, 220 * time.Millisecond
	for _, c := range []struct {
		name   string
		trips  []time.Duration // of the rounds behind the first long one
		least  float64         // of the window before it, when they are over
		most   float64
		search bool // slow start goes on
	}{
		{"the delay was none", []time.Duration{base, base, base, base, base}, 1, 2.3, true},
		{"it comes back", []time.Duration{base, base, longer}, 0.35, 0.6, false},
		{"it stays for a round: what is answered was sent before", []time.Duration{longer, base, base, base, base}, 1, 2.3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			control, w, now := &cubic{}, newCongestionWindow(1000), Time(time.Hour)
			for range 4 {
				now = round(control, &w, now, base)
			}
			before := w.size
			now = round(control, &w, now, longer)
			if share := float64(w.size) / float64(before); share > 0.75 || share < 0.4 {
				t.Errorf("when round trips grow longer the window is %.2f of what it was, want about half", share)
			}
			for _, trip := range c.trips {
				now = round(control, &w, now, trip)
			}
			if share := float64(w.size) / float64(before); share < c.least || share > c.most || w.inSlowStart() != c.search {
				t.Errorf("then it is %.2f of that, want %.2f to %.2f; slow start goes on: %t, want %t", share, c.least, c.most, w.inSlowStart(), c.search)
			}
		})
	}
}

// What is lost of what was sent before the window went back does not make it smaller once more.
func TestALossBehindADelayCountsOnce(t *testing.T) {
	control, w, now := &cubic{}, newCongestionWindow(1000), Time(time.Hour)
	for range 4 {
		now = round(control, &w, now, 200*time.Millisecond)
	}
	before := w.size
	now = round(control, &w, now, 220*time.Millisecond)
	if got := control.onLoss(&w, now); got != w.size || got > before*7/10 {
		t.Errorf("a loss leaves %d bytes of %d, and of %d before the delay; want what the delay left", got, w.size, before)
	}
}
