package streamload

import "weir/lab/internal/tally"

// burst measures the time from the first to the last message of those that are due together.
type burst struct {
	dueAt, first, last int64 // ns
	inWindow           bool  // the burst is in the window
}

// add adds a message that was due at the given time and whose write started at now. It reports
// whether the message is the first of a burst.
func (b *burst) add(at, now int64, spread tally.Distribution) bool {
	begins := at != b.dueAt
	if begins {
		b.end(spread)
		*b = burst{dueAt: at, first: now}
	}
	b.last = now
	return begins
}

// end records the burst's spread and closes it.
func (b *burst) end(spread tally.Distribution) {
	if b.inWindow {
		spread.Record(b.last - b.first)
	}
	b.inWindow = false
}
