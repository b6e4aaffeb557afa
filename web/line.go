package web

import (
	"context"
	"slices"
	"sync/atomic"

	"weir/flow"
)

// StatusGone is the status of an exchange whose client has gone before there was a response: nobody receives it, but logs and metrics show it.
const StatusGone = 499

// line is, by Chain, who is at a stage that blocks: of what comes at once Width are at work, Queue wait, and the rest is refused. By
// Network the stage's queue is that line.
type line struct {
	places chan struct{}       // from who comes -> to itself when it leaves; never closed
	seats  chan struct{}       // the same, of those at work
	ways   map[*stage]*arrival // by where from, nil being the entry; not changed once the net runs
}

// arrival counts what comes to a line from one stage, as flow counts it of an edge that is a queue.
type arrival struct{ inside, refused atomic.Int64 }

// newLine makes a line that is not open yet.
func newLine(width int) *line {
	return &line{seats: make(chan struct{}, width), ways: map[*stage]*arrival{}}
}

// open says how many may wait.
func (l *line) open(room int) { l.places = make(chan struct{}, cap(l.seats)+room) }

// call calls do when the exchange's turn has come; the error says why it did not come. Who has gone leaves the line; who need
// not wait is not asked.
func (l *line) call(c *Conn, do func(*Conn)) error {
	from := l.ways[c.via]
	select {
	case l.places <- struct{}{}:
	default:
		from.refused.Add(1)
		return flow.ErrFull
	}
	from.inside.Add(1)
	defer func() {
		<-l.places
		from.inside.Add(-1)
	}()
	if err := l.sit(c.Context()); err != nil {
		return err
	}
	defer func() { <-l.seats }()
	do(c)
	return nil
}

// sit waits for a seat, or for the client to go.
func (l *line) sit(client context.Context) error {
	select {
	case l.seats <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.seats <- struct{}{}:
		return nil
	case <-client.Done():
		return context.Cause(client)
	}
}

// show makes a topology one of a queue before the stage of this name: for flow, to be called is to be done, refused or not.
func (l *line) show(t *flow.Topology, name string) {
	at := slices.IndexFunc(t.Stages, func(s flow.StageReading) bool { return s.Name == name })
	s := &t.Stages[at]
	s.Width = cap(l.seats)
	for from, count := range l.ways {
		before := flow.Entry
		if from != nil {
			before = from.Name
		}
		i := slices.IndexFunc(t.Edges, func(e flow.EdgeReading) bool { return e.From == before && e.To == name })
		e := &t.Edges[i]
		e.Depth, e.Refused = uint64(count.inside.Load()), uint64(count.refused.Load())
		e.Items -= min(e.Items, e.Refused)
		s.Items -= min(s.Items, e.Refused)
	}
}
