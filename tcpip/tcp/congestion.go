package tcp

import (
	"time"

	"weir/wire"
)

// Algorithm is a congestion control algorithm.
type Algorithm uint8

// The congestion control algorithms.
const (
	Cubic Algorithm = iota // RFC 9438, with HyStart++ (RFC 9406)
	Reno                   // RFC 5681
)

// congestionControl is a congestion control algorithm. It changes the congestion window of its
// caller. Lengths are in bytes.
type congestionControl interface {
	// onAck grows the window after an acknowledgment in order. It is not called in fast recovery,
	// nor when the window was not what limited the sender.
	onAck(w *congestionWindow, a ackEvent)
	// onLoss returns ssthresh after a loss.
	onLoss(w *congestionWindow, now Time) int
	// onTimeout follows onLoss if an RTO detected the loss: the path may have changed.
	onTimeout()
	// undo reverts the last onLoss, and onTimeout with it: the loss was spurious.
	undo()
	// rescale converts what is counted in segments: their size has changed, in bytes.
	rescale(from, to int)
}

// ackEvent is what an acknowledgment reports to a congestion control algorithm.
type ackEvent struct {
	now        Time
	bytes      int           // newly acknowledged
	rtt        time.Duration // of a segment that it acknowledges; below zero: not known
	roundStart bool          // it is the first acknowledgment of a round trip
}

// congestionWindow limits how many bytes may be in flight (RFC 5681).
type congestionWindow struct {
	size     int // cwnd, in bytes
	ssthresh int // slow start threshold, in bytes
	mss      int // payload of a full segment, in bytes
	srtt     time.Duration
}

// The initial window (RFC 6928) and the smallest ssthresh (RFC 5681), in segments.
const (
	initialCwndSegments = 10
	minCwndSegments     = 2
)

// unsetSsthresh is ssthresh before the first loss: any window is below it.
const unsetSsthresh = 1 << 30

func newCongestionWindow(mss int) congestionWindow {
	return congestionWindow{size: initialCwndSegments * mss, ssthresh: unsetSsthresh, mss: mss}
}

// cwndUsage is how much of the congestion window was used in the last window of data (as Linux's
// tcp_cwnd_validate). A window that was not used is not known to fit the path.
type cwndUsage struct {
	cwndLimited bool     // the congestion window limited the sender
	maxInFlight int      // most bytes in flight, if it did not
	roundEnd    wire.Seq // end of that window of data
}

// updateCwndUsage records how much is in flight after Output has sent all that it may.
func (c *Conn) updateCwndUsage() {
	pipe := c.flight.pipe()
	limited := pipe+c.cwnd.mss > c.cwnd.size || c.hasUnsent() && pipe+c.cwnd.mss > c.cwnd.size/2
	if limited || c.cwndUsage.roundEnd.LessEq(c.sndUna) || !c.cwndUsage.cwndLimited && c.flight.totalBytes > c.cwndUsage.maxInFlight {
		c.cwndUsage = cwndUsage{limited, c.flight.totalBytes, c.sndNxt}
	}
}

// inSlowStart reports whether the window is below ssthresh.
func (w *congestionWindow) inSlowStart() bool { return w.size < w.ssthresh }

// slowStart grows the window by the acknowledged bytes, up to ssthresh, and returns the bytes left
// over. One acknowledgment of many segments counts as many acknowledgments (RFC 3465 without its
// limit, because receivers merge segments).
func (w *congestionWindow) slowStart(bytes int) (left int) {
	opened := min(w.size+bytes, w.ssthresh)
	left = w.size + bytes - opened
	w.size = opened
	return left
}

// reno is RFC 5681's congestion avoidance with appropriate byte counting (RFC 3465).
type reno struct {
	bytesAcked int // since the window last grew by a segment (bytes_acked of RFC 3465)
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

func (r *reno) rescale(int, int) {}
