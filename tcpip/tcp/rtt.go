package tcp

import "time"

// Retransmission times, as Linux has them: RFC 6298's least of 1 s is for clocks and delayed ACKs
// that are gone.
const (
	rtoFirst = time.Second // before there is a sample
	rtoLeast = 200 * time.Millisecond
	rtoMost  = 120 * time.Second
)

// estimator is RFC 6298's: the smoothed round trip time, its variance, and what follows from them.
type estimator struct {
	srtt, variance time.Duration
	rto            time.Duration // without backing off
	least          minimum       // the shortest round trip of the last while
}

func newEstimator() estimator { return estimator{rto: rtoFirst} }

// sample takes a round trip of a segment that was sent once (Karn's algorithm).
func (e *estimator) sample(rtt time.Duration, now Time) {
	rtt = max(rtt, 1)
	e.least.sample(rtt, now)
	if e.srtt == 0 {
		e.srtt, e.variance = rtt, rtt/2
	} else {
		e.variance += ((e.srtt - rtt).Abs() - e.variance) / 4
		e.srtt += (rtt - e.srtt) / 8
	}
	e.rto = min(max(e.srtt+max(4*e.variance, rtoLeast), rtoLeast), rtoMost)
}

// backedOff is the time after so many timeouts in a row.
func (e *estimator) backedOff(times int) time.Duration {
	rto := e.rto
	for range min(times, 10) {
		rto *= 2
	}
	return min(rto, rtoMost)
}

// minimum is the least of the samples of the last window, roughly: of this half of it and of the
// one before.
type minimum struct {
	this, before time.Duration // 0: none
	begun        Time
}

const minimumWindow = 5 * time.Minute

func (m *minimum) sample(v time.Duration, now Time) {
	if m.begun == 0 || now.Sub(m.begun) > minimumWindow/2 {
		m.before, m.this, m.begun = m.this, 0, now
	}
	if m.this == 0 || v < m.this {
		m.this = v
	}
}

// value is the least; 0: there is no sample.
func (m *minimum) value() time.Duration {
	if m.before != 0 && (m.this == 0 || m.before < m.this) {
		return m.before
	}
	return m.this
}
