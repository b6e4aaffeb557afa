package tcp

import "time"

// hystart is HyStart++ (RFC 9406): slow start ends, gently, when round trips grow longer. It
// differs from the RFC where round trips are long. There a delay is known a round trip late, and
// slow start has doubled the window by then: so delays are looked for in all of a round, not in its
// first samples only, and the window goes back to what was under way when the delay began.
// Conservative slow start then finds out whether the path is full.
type hystart struct {
	css    bool // conservative slow start
	rounds int  // of conservative slow start
	// what a round trip was without the delay that began it; on a short path, with it
	base          time.Duration
	before        int           // the window when it began; 0: it was left as it was
	last, current time.Duration // the shortest round trip of the last round and of this; 0: none
	samples       int           // of this round
	above         int           // samples in a row that were longer by the bound
	since         Time          // when the first of them came
	// bytes acknowledged in conservative slow start that did not make it grow
	remainder int
	ended     bool // slow start will not end this way any more
}

// HyStart++'s constants (RFC 9406, section 4.3).
const (
	hystartLeast   = 4 * time.Millisecond
	hystartMost    = 16 * time.Millisecond
	hystartSamples = 8
	cssGrowth      = 4
	cssRounds      = 5
)

// slowStart opens the window, and gives the bytes that are left over for congestion avoidance.
func (h *hystart) slowStart(w *window, a acked) (left int) {
	if a.round {
		h.last, h.current, h.samples = h.current, 0, 0
		if h.css {
			h.rounds++
		}
	}
	if a.rtt >= 0 && !h.ended {
		h.sample(w, a)
	}
	if h.css && h.rounds >= cssRounds+h.settling() {
		h.end(w)
	}
	if !w.slowStart() {
		return a.bytes
	}
	if !h.css {
		return w.slowly(a.bytes)
	}
	if h.rounds < h.settling() {
		return 0
	}
	h.remainder += a.bytes
	grow := h.remainder / cssGrowth
	h.remainder -= grow * cssGrowth
	left = w.slowly(grow)
	if h.before > 0 && w.size >= h.before {
		h.css, h.before = false, 0 // it was none: the path takes what it took then
	}
	return left
}

// settling is in how many rounds what is answered was sent before the window went back.
func (h *hystart) settling() int {
	if h.before > 0 {
		return 2
	}
	return 0
}

// end ends slow start where the window is.
func (h *hystart) end(w *window) {
	h.css, h.ended = false, true
	w.threshold = w.size
}

// sample looks for a delay that grows, or that was none.
func (h *hystart) sample(w *window, a acked) {
	rtt := a.rtt
	if h.current == 0 || rtt < h.current {
		h.current = rtt
	}
	h.samples++
	if h.before > 0 || !h.css && h.last >= paceFrom {
		h.sampleFar(w, a)
		return
	}
	if h.samples < hystartSamples || h.last == 0 {
		return
	}
	switch {
	case h.css && h.current < h.base:
		h.css, h.rounds = false, 0 // it was none
	case !h.css && h.current >= h.last+hystartBound(h.last):
		h.css, h.rounds, h.base = true, 0, h.current
	}
}

// hystartBound is by how much round trips have to be longer.
func hystartBound(rtt time.Duration) time.Duration {
	return min(max(rtt/8, hystartLeast), hystartMost)
}

// sampleFar is sample where round trips are long.
func (h *hystart) sampleFar(w *window, a acked) {
	base := h.last
	if h.css {
		base = h.base
	}
	if a.rtt < base+hystartBound(base) {
		h.above = 0
		return
	}
	if h.above == 0 {
		h.since = a.now
	}
	// what a host held up comes at once, and is no queue
	if h.above++; h.above < hystartSamples || a.now.Sub(h.since) < base/8 {
		return
	}
	h.above = 0
	switch {
	case !h.css: // what is answered now was sent when half as much was under way
		h.css, h.rounds, h.base, h.before = true, 0, base, w.size
		w.size = max(w.size/2, initialSegments*w.mss)
	case h.rounds >= h.settling():
		w.size = max(w.size-w.size/(cssGrowth+1), initialSegments*w.mss)
		h.end(w)
	}
}

// lost ends the search: the first loss says where the end is. It gives the window that a loss
// leaves, of the one that it would leave otherwise: what was sent before the window went back is
// lost because of what it was then.
func (h *hystart) lost(w *window, left int) int {
	if h.css && h.rounds < h.settling() {
		left = max(left, min(w.size, int(float64(h.before)*cubicBeta)))
	}
	*h = hystart{ended: true}
	return left
}
