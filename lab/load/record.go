package load

import "weir/lab/load/internal/tally"

// burst measures from the first to the last message of those that were due together.
type burst struct {
	at, first, last int64 // ns
	count           bool  // it is in the window
}

// note adds a message that was due at the given time and begun at now. It is true for a burst's
// first.
func (b *burst) note(at, now int64, spread tally.Distribution) bool {
	begins := at != b.at
	if begins {
		b.end(spread)
		*b = burst{at: at, first: now}
	}
	b.last = now
	return begins
}

// end closes a burst.
func (b *burst) end(spread tally.Distribution) {
	if b.count {
		spread.Record(b.last - b.first)
	}
	b.count = false
}
