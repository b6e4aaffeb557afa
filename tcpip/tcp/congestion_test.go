package tcp

import (
	"math"
	"testing"
	"time"
)

const testRTT = 100 * time.Millisecond

// round acknowledges a window segment by segment within a round trip, and returns the time after
// it.
func round(c congestionControl, w *congestionWindow, now Time, rtt time.Duration) Time {
	w.srtt = rtt
	for n, size := 0, w.size; n < size; n += w.mss {
		c.onAck(w, ackEvent{now: now.Add(time.Duration(float64(rtt) * float64(n) / float64(size))), bytes: w.mss, rtt: rtt, roundStart: n == 0})
	}
	return now.Add(rtt)
}

// After a loss the window of CUBIC is W_max again after K seconds: it grows slowly near W_max, and
// ever faster beyond (RFC 9438, sections 4.2 and 4.6).
func TestCubicReturnsToWMaxAfterK(t *testing.T) {
	const before = 1000 // segments
	c, w := &cubic{}, newCongestionWindow(1000)
	w.size, w.ssthresh = before*w.mss, before*w.mss
	c.wMax = before
	now := Time(time.Hour)
	w.ssthresh = c.onLoss(&w, now)
	w.size = w.ssthresh
	if got := w.size / w.mss; got != 700 {
		t.Errorf("the window is %d segments after a loss, want 700", got)
	}
	k := math.Cbrt(before * 0.3 / cubicC)
	for at, want := range map[float64][2]int{0.5 * k: {960, 970}, k: {990, 1010}, 1.5 * k: {1030, 1050}, 2 * k: {1250, 1350}} {
		c, w, now := *c, w, now
		for end := now.Add(time.Duration(at * float64(time.Second))); now < end; {
			now = round(&c, &w, now, testRTT)
		}
		if got := w.size / w.mss; got < want[0] || got > want[1] {
			t.Errorf("the window is %[2]d segments after %.1[1]f s, want %[3]d to %[4]d", at, got, want[0], want[1])
		}
	}
}

// A second loss below W_max reduces W_max further (fast convergence, RFC 9438, section 4.7), and a
// spurious loss is undone (section 4.9).
func TestCubicFastConvergenceIsUndone(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	c.wMax = 1000
	w.size = 800 * w.mss
	if c.onLoss(&w, 1); c.wMax != 800*(1+cubicBeta)/2 {
		t.Errorf("W_max is %v after a loss below it, want %v", c.wMax, 800*(1+cubicBeta)/2)
	}
	c.undo()
	if c.wMax != 1000 {
		t.Errorf("W_max is %v after undo, want 1000", c.wMax)
	}
}

// After a timeout W_max is where slow start ends (RFC 9438, section 4.8). Undo reverts that, too.
func TestCubicTimeoutSetsWMax(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	w.size, c.wMax = 100*w.mss, 100
	w.ssthresh = c.onLoss(&w, Time(time.Hour))
	c.onTimeout()
	w.size = w.ssthresh
	start := float64(w.size) / float64(w.mss)
	round(c, &w, Time(time.Hour), testRTT)
	if c.k != 0 || c.wMax != start {
		t.Errorf("W_max is %v and K %v, want %v and 0", c.wMax, c.k, start)
	}
	if c.undo(); c.wMax != 100 {
		t.Errorf("W_max is %v after undo, want 100", c.wMax)
	}
}

// After fast convergence W_est grows by CUBIC's factor up to cwnd_prior, and by Reno's from there
// (RFC 9438, section 4.3).
func TestCubicGrowsAsRenoFromCwndPrior(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	w.size, c.wMax = 20*w.mss, 30 // so that W_max becomes 17
	w.ssthresh = c.onLoss(&w, Time(time.Hour))
	w.size = w.ssthresh
	now := Time(time.Hour)
	for c.wEst < 19 {
		now = round(c, &w, now, 10*time.Millisecond)
	}
	before := c.wEst
	if round(c, &w, now, 10*time.Millisecond); c.wEst-before > 0.7 {
		t.Errorf("W_est grew from %.1f segments by %.2f in a round, want 0.53: cwnd_prior is 20", before, c.wEst-before)
	}
}

// Where windows are small, CUBIC grows as much in a round as Reno with its factors (RFC 9438,
// section 4.3).
func TestCubicIsRenoFriendly(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	w.size, c.wMax = 20*w.mss, 20
	w.ssthresh = c.onLoss(&w, Time(time.Hour))
	w.size = w.ssthresh
	start, now := w.size, Time(time.Hour)
	for range 10 {
		now = round(c, &w, now, 10*time.Millisecond)
	}
	if grown := float64(w.size-start) / float64(w.mss); grown < 4 || grown > 7 {
		t.Errorf("the window grew by %.1f segments in 10 rounds, want about 5.3", grown)
	}
}

// Reno grows the window by a segment a round, and halves it on a loss (RFC 5681, section 3.1).
func TestRenoGrowsByASegmentARound(t *testing.T) {
	c, w := &reno{}, newCongestionWindow(1000)
	w.size, w.ssthresh = 20*w.mss, 10*w.mss
	now := Time(time.Hour)
	for range 10 {
		now = round(c, &w, now, testRTT)
	}
	if got := w.size / w.mss; got != 30 {
		t.Errorf("the window is %d segments after 10 rounds, want 30", got)
	}
	if got := c.onLoss(&w, now) / w.mss; got != 15 {
		t.Errorf("ssthresh is %d segments after a loss, want 15", got)
	}
	w.size = 3 * w.mss
	if got := c.onLoss(&w, now) / w.mss; got != minCwndSegments {
		t.Errorf("ssthresh is %d segments after a loss, want the minimum of %d", got, minCwndSegments)
	}
}

// On a short path slow start doubles the window in a round. When the RTT rises, Conservative Slow
// Start grows it by a quarter of that and leaves slow start after five rounds; if the RTT falls
// again, slow start resumes (RFC 9406, section 4.2).
func TestHyStartLeavesSlowStartAfterARisingRTT(t *testing.T) {
	c, w := &cubic{}, newCongestionWindow(1000)
	now := Time(time.Hour)
	for _, r := range []struct {
		rtt  time.Duration
		want float64 // growth of the window in the round, as a factor
		css  bool
	}{
		{2, 2, false}, {2, 2, false}, {3, 2, false}, {8, 1.3, true}, {8, 1.25, true}, {2, 2, false}, {7, 1.3, true},
		{8, 1.25, true}, {8, 1.25, true}, {8, 1.25, true}, {8, 1.25, true},
	} {
		before := w.size
		now = round(c, &w, now, r.rtt*time.Millisecond)
		if got := float64(w.size) / float64(before); got < r.want-0.1 || got > r.want+0.1 || c.inCSS != r.css {
			t.Errorf("a round of %d ms grew the window by %.2f, want %.2f (in CSS: %t)", r.rtt, got, r.want, c.inCSS)
		}
	}
	before := w.size
	round(c, &w, now, 8*time.Millisecond)
	if w.inSlowStart() || float64(w.size) > 1.1*float64(before) {
		t.Errorf("the window is %d with ssthresh %d, want the end of slow start", w.size, w.ssthresh)
	}
}

// On a long path a delay is visible a round trip late, when slow start has already doubled the
// window, so the window is halved. If the delay comes back as the window grows again, slow start
// ends; otherwise it resumes at the former window.
func TestHyStartHalvesTheWindowOnALongPath(t *testing.T) {
	const base, longer = 200 * time.Millisecond, 220 * time.Millisecond
	for _, c := range []struct {
		name   string
		trips  []time.Duration // RTT of the rounds after the first long one
		least  float64         // smallest final window, as a share of the window before the delay
		most   float64         // largest
		search bool            // whether slow start goes on
	}{
		{"the delay does not come back", []time.Duration{base, base, base, base, base}, 1, 2.3, true},
		{"the delay comes back", []time.Duration{base, base, longer}, 0.35, 0.6, false},
		{"the delay lasts a round more: its data was sent before", []time.Duration{longer, base, base, base, base}, 1, 2.3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			control, w, now := &cubic{}, newCongestionWindow(1000), Time(time.Hour)
			for range 4 {
				now = round(control, &w, now, base)
			}
			before := w.size
			now = round(control, &w, now, longer)
			if share := float64(w.size) / float64(before); share > 0.75 || share < 0.4 {
				t.Errorf("the window is %.2f of the former after a rise of the RTT, want about half", share)
			}
			for _, trip := range c.trips {
				now = round(control, &w, now, trip)
			}
			if share := float64(w.size) / float64(before); share < c.least || share > c.most || w.inSlowStart() != c.search {
				t.Errorf("the window is finally %.2f of the former, want %.2f to %.2f; slow start goes on: %t, want %t", share, c.least, c.most, w.inSlowStart(), c.search)
			}
		})
	}
}

// A loss of data sent before the window was halved does not reduce it a second time.
func TestLossAfterADelayReducesTheWindowOnce(t *testing.T) {
	control, w, now := &cubic{}, newCongestionWindow(1000), Time(time.Hour)
	for range 4 {
		now = round(control, &w, now, 200*time.Millisecond)
	}
	before := w.size
	now = round(control, &w, now, 220*time.Millisecond)
	if got := control.onLoss(&w, now); got != w.size || got > before*7/10 {
		t.Errorf("ssthresh is %d bytes after a loss, want the halved window of %d (%d before the delay)", got, w.size, before)
	}
}
