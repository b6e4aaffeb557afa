package tcp

import "time"

// hystart is HyStart++ (RFC 9406): slow start ends, gently, when round trips grow longer. It
// differs from the RFC where round trips are long. There a delay is known a round trip late, and
// slow start has doubled the window by then: so delays are looked for in all of a round, not in its
// first samples only, and the window goes back to what was under way when the delay began.
// Conservative slow start then finds out whether the path is full.
type hystart struct {
	inCSS         bool // conservative slow start
	cssRoundCount int  // of conservative slow start
	// what a round trip was without the delay that began it; on a short path, with it
	cssBaselineRTT                      time.Duration
	cwndBefore                          int           // the window when it began; 0: it was left as it was
	lastRoundMinRTT, currentRoundMinRTT time.Duration // the shortest round trip of the last round and of this; 0: none
	rttSamples                          int           // of this round
	aboveCount                          int           // samples in a row that were longer by the bound
	aboveSince                          Time          // when the first of them came
	// bytes acknowledged in conservative slow start that did not make it grow
	cssRemainder int
	done         bool // slow start will not end this way any more
}

// HyStart++'s constants (RFC 9406, section 4.3).
const (
	minRTTThreshold  = 4 * time.Millisecond
	maxRTTThreshold  = 16 * time.Millisecond
	minRTTSamples    = 8
	cssGrowthDivisor = 4
	cssRoundLimit    = 5
)

// slowStart opens the window, and gives the bytes that are left over for congestion avoidance.
func (h *hystart) slowStart(w *congestionWindow, a ackEvent) (left int) {
	if a.roundStart {
		h.lastRoundMinRTT, h.currentRoundMinRTT, h.rttSamples = h.currentRoundMinRTT, 0, 0
		if h.inCSS {
			h.cssRoundCount++
		}
	}
	if a.rtt >= 0 && !h.done {
		h.sample(w, a)
	}
	if h.inCSS && h.cssRoundCount >= cssRoundLimit+h.staleRounds() {
		h.endSlowStart(w)
	}
	if !w.inSlowStart() {
		return a.bytes
	}
	if !h.inCSS {
		return w.slowStart(a.bytes)
	}
	if h.cssRoundCount < h.staleRounds() {
		return 0
	}
	h.cssRemainder += a.bytes
	grow := h.cssRemainder / cssGrowthDivisor
	h.cssRemainder -= grow * cssGrowthDivisor
	left = w.slowStart(grow)
	if h.cwndBefore > 0 && w.size >= h.cwndBefore {
		h.inCSS, h.cwndBefore = false, 0 // it was none: the path takes what it took then
	}
	return left
}

// settling is in how many rounds what is answered was sent before the window went back.
func (h *hystart) staleRounds() int {
	if h.cwndBefore > 0 {
		return 2
	}
	return 0
}

// end ends slow start where the window is.
func (h *hystart) endSlowStart(w *congestionWindow) {
	h.inCSS, h.done = false, true
	w.ssthresh = w.size
}

// sample looks for a delay that grows, or that was none.
func (h *hystart) sample(w *congestionWindow, a ackEvent) {
	rtt := a.rtt
	if h.currentRoundMinRTT == 0 || rtt < h.currentRoundMinRTT {
		h.currentRoundMinRTT = rtt
	}
	h.rttSamples++
	if h.cwndBefore > 0 || !h.inCSS && h.lastRoundMinRTT >= minPacedRTT {
		h.sampleLongPath(w, a)
		return
	}
	if h.rttSamples < minRTTSamples || h.lastRoundMinRTT == 0 {
		return
	}
	switch {
	case h.inCSS && h.currentRoundMinRTT < h.cssBaselineRTT:
		h.inCSS, h.cssRoundCount = false, 0 // it was none
	case !h.inCSS && h.currentRoundMinRTT >= h.lastRoundMinRTT+rttThreshold(h.lastRoundMinRTT):
		h.inCSS, h.cssRoundCount, h.cssBaselineRTT = true, 0, h.currentRoundMinRTT
	}
}

// hystartBound is by how much round trips have to be longer.
func rttThreshold(rtt time.Duration) time.Duration {
	return min(max(rtt/8, minRTTThreshold), maxRTTThreshold)
}

// sampleFar is sample where round trips are long.
func (h *hystart) sampleLongPath(w *congestionWindow, a ackEvent) {
	base := h.lastRoundMinRTT
	if h.inCSS {
		base = h.cssBaselineRTT
	}
	if a.rtt < base+rttThreshold(base) {
		h.aboveCount = 0
		return
	}
	if h.aboveCount == 0 {
		h.aboveSince = a.now
	}
	// what a host held up comes at once, and is no queue
	if h.aboveCount++; h.aboveCount < minRTTSamples || a.now.Sub(h.aboveSince) < base/8 {
		return
	}
	h.aboveCount = 0
	switch {
	case !h.inCSS: // what is answered now was sent when half as much was under way
		h.inCSS, h.cssRoundCount, h.cssBaselineRTT, h.cwndBefore = true, 0, base, w.size
		w.size = max(w.size/2, initialCwndSegments*w.mss)
	case h.cssRoundCount >= h.staleRounds():
		w.size = max(w.size-w.size/(cssGrowthDivisor+1), initialCwndSegments*w.mss)
		h.endSlowStart(w)
	}
}

// lost ends the search: the first loss says where the end is. It gives the window that a loss
// leaves, of the one that it would leave otherwise: what was sent before the window went back is
// lost because of what it was then.
func (h *hystart) onLoss(w *congestionWindow, left int) int {
	if h.inCSS && h.cssRoundCount < h.staleRounds() {
		left = max(left, min(w.size, int(float64(h.cwndBefore)*cubicBeta)))
	}
	*h = hystart{done: true}
	return left
}
