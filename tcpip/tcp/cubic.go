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
	wMax      float64 // W_max: the window before the last loss
	cwndPrior float64 // cwnd_prior: the window when it was last made smaller
	k         float64 // seconds from the epoch's begin until most is reached again
	wEst      float64 // W_est: what Reno would have
	epochCwnd float64 // the window at the epoch's begin
	// when congestion avoidance began after the last loss; 0: at the next acknowledgment
	epochStart Time
	fraction   float64 // what the window is to grow by and has not yet, in segments
	beforeLoss *cubic  // before the last loss
}

func (c *cubic) onAck(w *congestionWindow, a ackEvent) {
	bytes := a.bytes
	if w.inSlowStart() {
		bytes = c.slowStart(w, a)
		if bytes == 0 {
			return
		}
	}
	c.avoidCongestion(w, a.now, float64(bytes)/float64(w.mss))
}

// avoid is congestion avoidance (RFC 9438, sections 4.2 to 4.5), of so many segments acknowledged.
func (c *cubic) avoidCongestion(w *congestionWindow, now Time, segments float64) {
	size := float64(w.size) / float64(w.mss)
	if c.epochStart == 0 {
		c.startEpoch(size, now)
	}
	t := (now.Sub(c.epochStart) + w.srtt).Seconds()
	target := cubicC*math.Pow(t-c.k, 3) + c.wMax
	target = min(max(target, size), 1.5*size)
	alpha := 3 * (1 - cubicBeta) / (1 + cubicBeta)
	if c.wEst >= c.cwndPrior {
		alpha = 1 // as fast as Reno, where there is nothing to catch up with
	}
	c.wEst += alpha * segments / size
	growth := (target - size) / size * segments
	if friendly := c.wEst - size; friendly > growth && cubicC*math.Pow(now.Sub(c.epochStart).Seconds()-c.k, 3)+c.wMax < c.wEst {
		growth = friendly
	}
	c.fraction += growth
	if whole := math.Floor(c.fraction * float64(w.mss)); whole > 0 {
		w.size += int(whole)
		c.fraction -= whole / float64(w.mss)
	}
}

// begin begins an epoch.
func (c *cubic) startEpoch(size float64, now Time) {
	c.epochStart, c.epochCwnd, c.wEst, c.fraction = now, size, size, 0
	if c.wMax <= size { // slow start ended without a loss, or came after silence
		c.wMax, c.k = size, 0
		return
	}
	c.k = math.Cbrt((c.wMax - size) / cubicC)
}

func (c *cubic) onLoss(w *congestionWindow, now Time) int {
	before := *c
	before.beforeLoss = nil
	c.beforeLoss = &before
	size := float64(w.size) / float64(w.mss)
	c.epochStart, c.cwndPrior = 0, size
	if size < c.wMax { // fast convergence (section 4.7): others need room
		c.wMax = size * (1 + cubicBeta) / 2
	} else {
		c.wMax = size
	}
	left := c.hystart.onLoss(w, int(float64(w.size)*cubicBeta))
	return max(left, minCwndSegments*w.mss)
}

// silence has the next epoch begin where slow start ends, with nothing to go back to (RFC 9438,
// section 4.8).
func (c *cubic) onTimeout() { c.wMax = 0 }

func (c *cubic) undo() {
	if c.beforeLoss != nil {
		*c = *c.beforeLoss
	}
}
