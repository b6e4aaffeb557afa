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
