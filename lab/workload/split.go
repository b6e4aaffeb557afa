package workload

import (
	"encoding/json"
	"fmt"

	"weir/lab/load"
)

// A Splitter is a Session whose loads several generators can offer at the same time, each a share.
type Splitter interface {
	Session
	// Split divides a cell of a load into n shares, whose sum is the cell. An error says why it
	// cannot be divided.
	Split(l Load, c Cell, n int) ([]Share, error)
	// Merge returns the generator's report of a load from those of its shares.
	Merge(reports []json.RawMessage) (json.RawMessage, error)
}

// Share is what one of several generators offers.
type Share struct {
	Load Load
	Cell Cell
}

// SplitCell divides the connections of a cell into n shares, which differ by one at most. Settings
// of a load that are not for each connection are the same in all shares.
func SplitCell(l Load, c Cell, n int) ([]Share, error) {
	switch {
	case c.Connections < n:
		return nil, fmt.Errorf("%d agents need a connection each, and it has %d: use more connections, or fewer agents", n, c.Connections)
	case c.Pattern == load.Together:
		return nil, fmt.Errorf("the pattern %s sends on all connections at one instant, and agents only start a window at one: use another pattern", c.Pattern)
	}
	all := make([]Share, n)
	for i := range all {
		part := c
		part.Connections = Portion(c.Connections, n, i)
		all[i] = Share{Load: l.Clone(), Cell: part}
	}
	return all, nil
}

// Portion returns the i-th of n portions of a total, which differ by one at most. The first ones
// get what remains.
func Portion(total, n, i int) int {
	portion := total / n
	if i < total%n {
		portion++
	}
	return portion
}
