package tcp

import "time"

// Retransmission times, as Linux has them: RFC 6298's least of 1 s is for clocks and delayed ACKs
// that are gone.
const (
	initialRTO = time.Second // before there is a sample
	minRTO     = 200 * time.Millisecond
	maxRTO     = 120 * time.Second
)

// estimator is RFC 6298's: the smoothed round trip time, its variance, and what follows from them.
type estimator struct {
	srtt, rttvar time.Duration
	rto          time.Duration // without backing off
	minRTT       windowedMin   // the shortest round trip of the last while
}

func newEstimator() estimator { return estimator{rto: initialRTO} }

// sample takes a round trip of a segment that was sent once (Karn's algorithm).
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

// backedOff is the time after so many timeouts in a row.
func (e *estimator) backedOffRTO(times int) time.Duration {
	rto := e.rto
	for range min(times, 10) {
		rto *= 2
	}
	return min(rto, maxRTO)
}

// minimum is the least of the samples of the last window, roughly: of this half of it and of the
// one before.
type windowedMin struct {
	current, previous time.Duration // 0: none
	startedAt         Time
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

// value is the least; 0: there is no sample.
func (m *windowedMin) value() time.Duration {
	if m.previous != 0 && (m.current == 0 || m.previous < m.current) {
		return m.previous
	}
	return m.current
}
