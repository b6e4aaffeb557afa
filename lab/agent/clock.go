package agent

import (
	"errors"
	"fmt"
	"time"
)

const (
	// clockExchanges is how many exchanges measure a clock; the fastest counts.
	clockExchanges = 16
	// probeTimeout is how long an agent may take to answer a probe. A machine that is overloaded
	// for longer than that measures nothing.
	probeTimeout = 5 * time.Second
	// maxDriftPPM is by how many parts per million two clocks may differ in rate. Linux slews a
	// clock by at most 500.
	maxDriftPPM = 1000
)

// Clock is what is known of an agent's clock.
type Clock struct {
	Offset time.Duration // agent's time minus coordinator's time, at the moment of the exchange
	Bound  time.Duration // the largest error of Offset
	AtNS   int64         // the moment on the coordinator's clock
}

// exchange holds the four times of one exchange, in ns (RFC 5905, figure 15: T1 to T4).
type exchange struct {
	sent     int64 // T1, coordinator
	received int64 // T2, agent
	replied  int64 // T3, agent
	returned int64 // T4, coordinator
}

// clock returns what the exchange says. The offset is exact if both directions took equally long;
// the error is at most half of the round trip.
func (e exchange) clock() (Clock, error) {
	roundTrip := (e.returned - e.sent) - (e.replied - e.received)
	if roundTrip < 0 {
		return Clock{}, errors.New("its clock ran faster than the exchange of two messages allows")
	}
	offset := ((e.received - e.sent) + (e.replied - e.returned)) / 2
	return Clock{Offset: time.Duration(offset), Bound: time.Duration(roundTrip+1) / 2, AtNS: e.returned}, nil
}

// measureClock returns the clock of the fastest exchange.
func measureClock(probe func() (exchange, error)) (Clock, error) {
	var best Clock
	for i := range clockExchanges {
		e, err := probe()
		if err != nil {
			return best, err
		}
		c, err := e.clock()
		if err != nil {
			return best, err
		}
		if i == 0 || c.Bound < best.Bound {
			best = c
		}
	}
	return best, nil
}

// checkMoved returns an error if the clock after a window differs from that before by more than
// both bounds and the greatest drift explain.
func checkMoved(before, after Clock) error {
	allowed := before.Bound + after.Bound + time.Duration(float64(after.AtNS-before.AtNS)*maxDriftPPM/1e6)
	if moved := after.Offset - before.Offset; moved.Abs() > allowed {
		return fmt.Errorf("by %v between the start and the end of the window, the limit is %v", moved, allowed)
	}
	return nil
}
