package tcp

import "math"

// CUBIC's constants (RFC 9438, section 4.1).
const (
	cubicC    = 0.4
	cubicBeta = 0.7
)

// cubic is RFC 9438. It counts windows in segments, as the RFC does.
type cubic struct {
	hystart
	most     float64 // W_max: the window before the last loss
	prior    float64 // cwnd_prior: the window when it was last made smaller
	k        float64 // seconds from the epoch's begin until most is reached again
	estimate float64 // W_est: what Reno would have
	from     float64 // the window at the epoch's begin
	// when congestion avoidance began after the last loss; 0: at the next acknowledgment
	epoch    Time
	fraction float64 // what the window is to grow by and has not yet, in segments
	saved    *cubic  // before the last loss
}

func (c *cubic) acked(w *window, a acked) {
	bytes := a.bytes
	if w.slowStart() {
		bytes = c.slowStart(w, a)
		if bytes == 0 {
			return
		}
	}
	c.avoid(w, a.now, float64(bytes)/float64(w.mss))
}

// avoid is congestion avoidance (RFC 9438, sections 4.2 to 4.5), of so many segments acknowledged.
func (c *cubic) avoid(w *window, now Time, segments float64) {
	size := float64(w.size) / float64(w.mss)
	if c.epoch == 0 {
		c.begin(size, now)
	}
	t := (now.Sub(c.epoch) + w.srtt).Seconds()
	target := cubicC*math.Pow(t-c.k, 3) + c.most
	target = min(max(target, size), 1.5*size)
	alpha := 3 * (1 - cubicBeta) / (1 + cubicBeta)
	if c.estimate >= c.prior {
		alpha = 1 // as fast as Reno, where there is nothing to catch up with
	}
	c.estimate += alpha * segments / size
	growth := (target - size) / size * segments
	if friendly := c.estimate - size; friendly > growth && cubicC*math.Pow(now.Sub(c.epoch).Seconds()-c.k, 3)+c.most < c.estimate {
		growth = friendly
	}
	c.fraction += growth
	if whole := math.Floor(c.fraction * float64(w.mss)); whole > 0 {
		w.size += int(whole)
		c.fraction -= whole / float64(w.mss)
	}
}

// begin begins an epoch.
func (c *cubic) begin(size float64, now Time) {
	c.epoch, c.from, c.estimate, c.fraction = now, size, size, 0
	if c.most <= size { // slow start ended without a loss, or came after silence
		c.most, c.k = size, 0
		return
	}
	c.k = math.Cbrt((c.most - size) / cubicC)
}

func (c *cubic) threshold(w *window, now Time) int {
	before := *c
	before.saved = nil
	c.saved = &before
	size := float64(w.size) / float64(w.mss)
	c.epoch, c.prior = 0, size
	if size < c.most { // fast convergence (section 4.7): others need room
		c.most = size * (1 + cubicBeta) / 2
	} else {
		c.most = size
	}
	left := c.hystart.lost(w, int(float64(w.size)*cubicBeta))
	return max(left, leastSegments*w.mss)
}

// silence has the next epoch begin where slow start ends, with nothing to go back to (RFC 9438,
// section 4.8).
func (c *cubic) silence() { c.most = 0 }

func (c *cubic) undo() {
	if c.saved != nil {
		*c = *c.saved
	}
}
