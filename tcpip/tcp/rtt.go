package tcp

import "time"

// Bounds of the RTO, as in Linux. The minimum of 1 s in RFC 6298 allowed for coarse clocks and long
// delayed ACKs that no longer exist.
const (
	initialRTO = time.Second // before the first sample
	minRTO     = 200 * time.Millisecond
	maxRTO     = 120 * time.Second
)

// estimator computes the RTO from round-trip times (RFC 6298).
type estimator struct {
	srtt, rttvar time.Duration // SRTT and RTTVAR; 0: no sample
	rto          time.Duration // RTO before backoff
	minRTT       windowedMin   // minimum RTT of the last minutes
}

func newEstimator() estimator { return estimator{rto: initialRTO} }

// addSample adds the round-trip time of a segment that was sent once (Karn's algorithm).
func (e *estimator) addSample(rtt time.Duration, now Time) {
	rtt = max(rtt, 1)
	e.minRTT.addSample(rtt, now)
	if e.srtt == 0 {
		e.srtt, e.rttvar = rtt, rtt/2
	} else {
		e.rttvar += ((e.srtt - rtt).Abs() - e.rttvar) / 4
		e.srtt += (rtt - e.srtt) / 8
	}
	e.rto = min(max(e.srtt+max(4*e.rttvar, minRTO), minRTO), maxRTO)
}

// backedOffRTO is the RTO after a number of consecutive timeouts.
func (e *estimator) backedOffRTO(times int) time.Duration {
	rto := e.rto
	for range min(times, 10) {
		rto *= 2
	}
	return min(rto, maxRTO)
}

// windowedMin is the approximate minimum of the samples of the last minRTTWindow: of its current
// and its previous half.
type windowedMin struct {
	current, previous time.Duration // minimum of each half; 0: no sample
	startedAt         Time          // start of the current half; 0: no sample yet
}

const minRTTWindow = 5 * time.Minute

func (m *windowedMin) addSample(v time.Duration, now Time) {
	if m.startedAt == 0 || now.Sub(m.startedAt) > minRTTWindow/2 {
		m.previous, m.current, m.startedAt = m.current, 0, now
	}
	if m.current == 0 || v < m.current {
		m.current = v
	}
}

// value is the minimum; 0: no sample.
func (m *windowedMin) value() time.Duration {
	if m.previous != 0 && (m.current == 0 || m.previous < m.current) {
		return m.previous
	}
	return m.current
}
