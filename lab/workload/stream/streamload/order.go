package streamload

import (
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
)

// sendOrder is an order in which connections are due. Peek returns the next connection without
// changing the order; its times never decrease. take advances, at time now, and returns how many
// more bytes that connection owes. Then returns the time that Peek is likely to return after the
// next take; 0 if unknown.
type sendOrder interface {
	Peek() (at int64, conn int)
	Then() (at int64)
	take(now int64) (bytes int)
}

// emptyOrder is the order of no connections.
type emptyOrder struct{}

func (emptyOrder) Peek() (int64, int) { return tally.Unset - 1, 0 }
func (emptyOrder) Then() int64        { return 0 }
func (emptyOrder) take(int64) int     { return 0 }

// messageOrder is the order of messages of size bytes.
type messageOrder struct {
	schedule.Order
	size int
}

func (m messageOrder) take(int64) int {
	m.Advance()
	return m.size
}

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
