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
type congestionControl interface {
	// acked is the window after bytes were acknowledged in order, at no time of recovery, when the
	// window was what held the sender back.
	onAck(w *congestionWindow, a ackEvent)
	// threshold is where slow start ends from now on, as a loss of this round says.
	onLoss(w *congestionWindow, now Time) int
	// silence is told, after threshold, when it was a timeout that said so: the path may have
	// become another one.
	onTimeout()
	// undo takes the last threshold back, and silence with it: nothing was lost.
	undo()
}

// acked is what an acknowledgment says to a control.
type ackEvent struct {
	now        Time
	bytes      int
	rtt        time.Duration // of a segment it acknowledges, below zero: not known
	roundStart bool          // it is the first of a round trip
}

// window is how much may be under way.
type congestionWindow struct {
	size     int // bytes that may be under way
	ssthresh int // slow start is below it
	mss      int // bytes of a full segment
	srtt     time.Duration
}

// Initial windows (RFC 6928) and smallest ones (RFC 5681), in segments.
const (
	initialCwndSegments = 10
	minCwndSegments     = 2
)

const unsetSsthresh = 1 << 30 // a threshold that nobody has set

func newCongestionWindow(mss int) congestionWindow {
	return congestionWindow{size: initialCwndSegments * mss, ssthresh: unsetSsthresh, mss: mss}
}

// usage is how much of the congestion window was in use in the last window of data (as Linux's
// tcp_cwnd_validate): a window that is not used is not known to fit.
type cwndUsage struct {
	cwndLimited bool     // the congestion window held the sender back
	maxInFlight int      // bytes that were under way at once, if it did not
	roundEnd    wire.Seq // where that window of data ends
}

// noteUsage takes note of what is under way, after all was sent that may be.
func (c *Conn) updateCwndUsage() {
	pipe := c.flight.pipe()
	limited := pipe+c.cwnd.mss > c.cwnd.size || c.hasUnsent() && pipe+c.cwnd.mss > c.cwnd.size/2
	if limited || c.cwndUsage.roundEnd.LessEq(c.sndUna) || !c.cwndUsage.cwndLimited && c.flight.totalBytes > c.cwndUsage.maxInFlight {
		c.cwndUsage = cwndUsage{limited, c.flight.totalBytes, c.sndNxt}
	}
}

// slowStart says whether the window is still searched for.
func (w *congestionWindow) inSlowStart() bool { return w.size < w.ssthresh }

// slowly opens the window by what was acknowledged, up to the threshold, and gives what is left
// over of that. One acknowledgment of many segments opens it as many would (RFC 3465 with no limit,
// as receivers merge them).
func (w *congestionWindow) slowStart(bytes int) (left int) {
	opened := min(w.size+bytes, w.ssthresh)
	left = w.size + bytes - opened
	w.size = opened
	return left
}

// reno is RFC 5681's congestion avoidance, with appropriate byte counting (RFC 3465).
type reno struct {
	bytesAcked int // bytes acknowledged since the window last grew by a segment
}

func (r *reno) onAck(w *congestionWindow, a ackEvent) {
	bytes := a.bytes
	if w.inSlowStart() {
		if bytes = w.slowStart(bytes); bytes == 0 {
			return
		}
	}
	r.bytesAcked += bytes
	if r.bytesAcked >= w.size {
		r.bytesAcked -= w.size
		w.size += w.mss
	}
}

func (r *reno) onLoss(w *congestionWindow, _ Time) int {
	r.bytesAcked = 0
	return max(w.size/2, minCwndSegments*w.mss)
}

func (r *reno) onTimeout() {}

func (r *reno) undo() {}
