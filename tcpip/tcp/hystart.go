package tcp

import "time"

// hystart is HyStart++ (RFC 9406): it leaves slow start when the round-trip time rises, by way of
// Conservative Slow Start (CSS). It differs from the RFC on long paths. There, a delay becomes
// visible a round trip late, when slow start has already doubled the window. So it looks for delays
// in all samples of a round instead of the first ones, and on a delay it halves the window, to what
// was in flight when the delay began. CSS then finds out whether the path is full.
type hystart struct {
	inCSS         bool // in Conservative Slow Start
	cssRoundCount int  // rounds of CSS so far
	// cssBaselineRTT is the RTT above which a delay is a queue: that of the round before the delay
	// on a long path, that of the round with the delay on a short one.
	cssBaselineRTT time.Duration
	cwndBefore     int // window before the delay halved it, in bytes; 0: it was not halved
	// lastRoundMinRTT and currentRoundMinRTT are the minimum RTT of the last round and of this one;
	// 0: no sample.
	lastRoundMinRTT, currentRoundMinRTT time.Duration

	rttSamples   int  // samples in this round
	aboveCount   int  // consecutive samples above the threshold
	aboveSince   Time // time of the first of them
	cssRemainder int  // bytes acknowledged in CSS that have not grown the window yet
	done         bool // slow start is over: HyStart++ does not run again
}

// The constants of HyStart++ (RFC 9406, section 4.3): MIN_RTT_THRESH, MAX_RTT_THRESH, N_RTT_SAMPLE,
// CSS_GROWTH_DIVISOR and CSS_ROUNDS.
const (
	minRTTThreshold  = 4 * time.Millisecond
	maxRTTThreshold  = 16 * time.Millisecond
	minRTTSamples    = 8
	cssGrowthDivisor = 4
	cssRoundLimit    = 5
)

// slowStart grows the window in slow start or CSS, and returns the bytes left over for congestion
// avoidance.
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
		h.inCSS, h.cwndBefore = false, 0 // no delay at the former window: resume slow start
	}
	return left
}

// staleRounds is how many rounds of CSS still acknowledge data that was sent before the window was
// halved.
func (h *hystart) staleRounds() int {
	if h.cwndBefore > 0 {
		return 2
	}
	return 0
}

// endSlowStart leaves slow start at the current window.
func (h *hystart) endSlowStart(w *congestionWindow) {
	h.inCSS, h.done = false, true
	w.ssthresh = w.size
}

// sample judges an RTT sample: a rising RTT enters CSS, a low one returns to slow start.
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
		h.inCSS, h.cssRoundCount = false, 0 // the delay was not a queue
	case !h.inCSS && h.currentRoundMinRTT >= h.lastRoundMinRTT+rttThreshold(h.lastRoundMinRTT):
		h.inCSS, h.cssRoundCount, h.cssBaselineRTT = true, 0, h.currentRoundMinRTT
	}
}

// rttThreshold is the rise of the RTT that counts as a delay: RttThresh of RFC 9406.
func rttThreshold(rtt time.Duration) time.Duration {
	return min(max(rtt/8, minRTTThreshold), maxRTTThreshold)
}

// sampleLongPath is sample for long paths: see hystart.
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
	// samples that a host held up arrive together: they are not a sign of a queue
	if h.aboveCount++; h.aboveCount < minRTTSamples || a.now.Sub(h.aboveSince) < base/8 {
		return
	}
	h.aboveCount = 0
	switch {
	case !h.inCSS: // data acknowledged now was sent when half as much was in flight
		h.inCSS, h.cssRoundCount, h.cssBaselineRTT, h.cwndBefore = true, 0, base, w.size
		w.size = max(w.size/2, initialCwndSegments*w.mss)
	case h.cssRoundCount >= h.staleRounds():
		w.size = max(w.size-w.size/(cssGrowthDivisor+1), initialCwndSegments*w.mss)
		h.endSlowStart(w)
	}
}

// onLoss ends HyStart++ after the first loss and returns ssthresh; left is the ssthresh of CUBIC
// alone. Segments sent before the window was halved are lost because of the former window, so
// ssthresh is computed from that.
func (h *hystart) onLoss(w *congestionWindow, ssthresh int) int {
	if h.inCSS && h.cssRoundCount < h.staleRounds() {
		ssthresh = max(ssthresh, min(w.size, int(float64(h.cwndBefore)*cubicBeta)))
	}
	*h = hystart{done: true}
	return ssthresh
}
