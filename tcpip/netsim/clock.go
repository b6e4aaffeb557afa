package netsim

import "time"

// clock is the clock of a host: it differs from the world's by an offset, and by a drift since
// then.
type clock struct {
	since  time.Time
	offset time.Duration
	drift  float64
}

func (c clock) at(now time.Time) time.Time {
	return now.Add(c.offset + time.Duration(c.drift*float64(now.Sub(c.since))))
}

// SetClock sets the host's clock: it is ahead of the world's by offset from now on, and gains drift
// seconds a second. Only Now shows it. Package time has the clock of the world on all hosts, so a
// program must get its clock as a function to be tested by this.
func (h *Host) SetClock(offset time.Duration, drift float64) {
	h.m.w.note(faultEntry, "clock of %s: %v ahead, drift %v", h.Name(), offset, drift)
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.m.clock = clock{time.Now(), offset, drift}
}

// Now is time.Now by the host's clock.
func (h *Host) Now() time.Time {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.m.clock.at(time.Now())
}
