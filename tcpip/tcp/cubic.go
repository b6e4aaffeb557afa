package tcp

import "math"

// CUBIC's constants (RFC 9438, section 4.1).
const (
	cubicC    = 0.4
	cubicBeta = 0.7
)

// cubic is CUBIC (RFC 9438). Like the RFC, it counts windows in segments.
type cubic struct {
	hystart
	wMax      float64 // W_max: the window before the last loss; 0: none, or a timeout followed
	cwndPrior float64 // cwnd_prior: the window when it was last reduced
	k         float64 // K: seconds from the start of the epoch until the window is W_max again
	wEst      float64 // W_est: the window that Reno would have
	epochCwnd float64 // cwnd_epoch: the window at the start of the epoch
	// epochStart is t_epoch: when congestion avoidance began after the last loss; 0: it begins
	// with the next acknowledgment.
	epochStart Time
	fraction   float64 // growth below a byte that is still due, in segments
	beforeLoss *cubic  // state before the last loss, for undo; nil: none
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

// avoidCongestion is congestion avoidance (RFC 9438, sections 4.2 to 4.5) for acknowledged
// segments.
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
		alpha = 1 // from cwnd_prior on as fast as Reno (section 4.3)
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

// startEpoch starts a congestion avoidance epoch.
func (c *cubic) startEpoch(size float64, now Time) {
	c.epochStart, c.epochCwnd, c.wEst, c.fraction = now, size, size, 0
	if c.wMax <= size { // slow start ended without a loss, or followed a timeout
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
	if size < c.wMax { // fast convergence (section 4.7): leave room for new flows
		c.wMax = size * (1 + cubicBeta) / 2
	} else {
		c.wMax = size
	}
	ssthresh := c.hystart.onLoss(w, int(float64(w.size)*cubicBeta))
	return max(ssthresh, minCwndSegments*w.mss)
}

// onTimeout starts the next epoch where slow start ends, without a W_max to return to (RFC 9438,
// section 4.8).
func (c *cubic) onTimeout() { c.wMax = 0 }

// rescale starts a new epoch with the next acknowledgment.
func (c *cubic) rescale(from, to int) {
	ratio := float64(from) / float64(to)
	c.wMax, c.cwndPrior, c.epochStart = c.wMax*ratio, c.cwndPrior*ratio, 0
}

func (c *cubic) undo() {
	if c.beforeLoss != nil {
		*c = *c.beforeLoss
	}
}
