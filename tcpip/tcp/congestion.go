package tcp

import (
	"time"

	"weir/wire"
)

// Algorithm is how a connection finds out how much the path takes.
type Algorithm uint8

// The algorithms.
const (
	Cubic Algorithm = iota // RFC 9438, with HyStart++ (RFC 9406)
	Reno                   // RFC 5681
)

// control is a congestion control algorithm. Lengths are in bytes. The window is the caller's; a
// control says what becomes of it.
type control interface {
	// acked is the window after bytes were acknowledged in order, at no time of recovery, when the
	// window was what held the sender back.
	acked(w *window, a acked)
	// threshold is where slow start ends from now on, as a loss of this round says.
	threshold(w *window, now Time) int
	// silence is told, after threshold, when it was a timeout that said so: the path may have
	// become another one.
	silence()
	// undo takes the last threshold back, and silence with it: nothing was lost.
	undo()
}

// acked is what an acknowledgment says to a control.
type acked struct {
	now   Time
	bytes int
	rtt   time.Duration // of a segment it acknowledges, below zero: not known
	round bool          // it is the first of a round trip
}

// window is how much may be under way.
type window struct {
	size      int // bytes that may be under way
	threshold int // slow start is below it
	mss       int // bytes of a full segment
	srtt      time.Duration
}

// Initial windows (RFC 6928) and smallest ones (RFC 5681), in segments.
const (
	initialSegments = 10
	leastSegments   = 2
)

const farAway = 1 << 30 // a threshold that nobody has set

func newWindow(mss int) window {
	return window{size: initialSegments * mss, threshold: farAway, mss: mss}
}

// usage is how much of the congestion window was in use in the last window of data (as Linux's
// tcp_cwnd_validate): a window that is not used is not known to fit.
type usage struct {
	limited bool     // the congestion window held the sender back
	most    int      // bytes that were under way at once, if it did not
	end     wire.Seq // where that window of data ends
}

// noteUsage takes note of what is under way, after all was sent that may be.
func (c *Conn) noteUsage() {
	pipe := c.flight.pipe()
	limited := pipe+c.cwnd.mss > c.cwnd.size || c.waiting() && pipe+c.cwnd.mss > c.cwnd.size/2
	if limited || c.usage.end.LessEq(c.una) || !c.usage.limited && c.flight.bytes > c.usage.most {
		c.usage = usage{limited, c.flight.bytes, c.nxt}
	}
}

// slowStart says whether the window is still searched for.
func (w *window) slowStart() bool { return w.size < w.threshold }

// slowly opens the window by what was acknowledged, up to the threshold, and gives what is left
// over of that. One acknowledgment of many segments opens it as many would (RFC 3465 with no limit,
// as receivers merge them).
func (w *window) slowly(bytes int) (left int) {
	opened := min(w.size+bytes, w.threshold)
	left = w.size + bytes - opened
	w.size = opened
	return left
}

// reno is RFC 5681's congestion avoidance, with appropriate byte counting (RFC 3465).
type reno struct {
	counted int // bytes acknowledged since the window last grew by a segment
}

func (r *reno) acked(w *window, a acked) {
	bytes := a.bytes
	if w.slowStart() {
		if bytes = w.slowly(bytes); bytes == 0 {
			return
		}
	}
	r.counted += bytes
	if r.counted >= w.size {
		r.counted -= w.size
		w.size += w.mss
	}
}

func (r *reno) threshold(w *window, _ Time) int {
	r.counted = 0
	return max(w.size/2, leastSegments*w.mss)
}

func (r *reno) silence() {}

func (r *reno) undo() {}
