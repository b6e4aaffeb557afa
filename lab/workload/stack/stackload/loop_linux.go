package stackload

import (
	"context"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/load"
)

// task is the part of an operation that differs from the others.
type task interface {
	opened(i int) // connection i is open
	// handles events of connection i, or runs it without events if it was queued
	turn(i int, events uint32)
	measured() // the window is over: operations under way should end
	// returns the start of the timeout of the open connection c in ns; 0: it has none
	waits(c *conn) (from int64)
}

// loop runs one operation over TCP on one locked thread. Successful operations do not allocate.
type loop struct {
	Config
	*oneloop.State
	task task

	conns    []conn
	runQueue []int32 // connections that run without an event
	busy     int     // operations under way that will end

	carried      int64         // bytes of bulk data; for in those written to a socket
	windowStart  counterTotals // at the start of the window
	closedTotals counterTotals // of closed connections
	info         unix.TCPInfo  // buffer of tcpInfo
	counts
}

// counterTotals is the state of the connections' counters at one time.
type counterTotals struct {
	at    int64 // ns
	acked int64 // bytes
	read  int64 // bytes
	segments
}

func newLoop(ctx context.Context, c Config, s *oneloop.State) (l *loop, err error) {
	s.Server, err = oneloop.FindServer(ctx, c.server(), c.Operation == Connect)
	s.ConnectLimit = min(c.Timeout, raw.DialTimeout)
	l = &loop{Config: c, State: s, conns: make([]conn, c.Connections), counts: newCounts()}
	switch c.Operation {
	case Connect:
		l.task = &connects{loop: l}
	case In:
		l.task = &inward{loop: l}
	case Out:
		l.task = &outward{loop: l}
	case RR:
		l.task = &roundTrips{loop: l}
	case Idle:
		l.task = &holds{loop: l}
	}
	for i := range l.conns {
		l.conns[i].fd = -1
	}
	return l, err
}

// offer implements work. The connections of connect are opened by the load.
func (l *loop) offer(ctx context.Context, ev load.Events) error {
	before := l.Connections
	if l.Operation == Connect {
		before = 0
	}
	return l.Run(ctx, ev, l, before, l.Duration)
}

func (l *loop) found() *counts { return &l.counts }

// close implements work.
func (l *loop) close() {
	for i := range l.conns {
		if fd := l.conns[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // nothing is lost
		}
	}
}

// Begun implements oneloop.Loop.
func (l *loop) Begun() {
	for i := range l.conns {
		l.queue(i)
	}
}

// Work runs the queued connections, and reports whether more are queued.
func (l *loop) Work(int64) bool {
	if l.From != 0 && l.windowStart.at == 0 {
		l.windowStart = l.read()
		l.WarmMessages += l.carried / bulkMessage
	}
	n := len(l.runQueue)
	for _, i := range l.runQueue[:n] {
		c := &l.conns[i]
		c.queued = false
		if c.state == closed && !l.windowOver(l.Clock.Now()) {
			l.Connect(int(i))
		} else if c.fd >= 0 && c.state != connecting {
			l.task.turn(int(i), 0)
		}
	}
	l.runQueue = l.runQueue[:copy(l.runQueue, l.runQueue[n:])]
	return len(l.runQueue) > 0
}

// Finish computes the figures of the window, and lets the operations under way end.
func (l *loop) Finish(int64) {
	last := l.read()
	switch l.Operation {
	case In, Out, RR:
		l.segments, l.span = last.minus(l.windowStart.segments), last.at-l.windowStart.at
	case Idle:
		l.Messages = l.Alive.Load()
	}
	switch l.Operation {
	case In:
		l.Bytes = last.acked - l.windowStart.acked
	case Out:
		l.Bytes = last.read - l.windowStart.read
	}
	if l.From != 0 {
		l.task.measured()
	}
}

// Waiting reports whether operations are under way that will end.
func (l *loop) Waiting(int64) bool { return l.From != 0 && l.busy > 0 }

// read reads the counters of all connections. For connect each connection is read when it ends.
func (l *loop) read() counterTotals {
	r := l.closedTotals
	if l.Operation != Connect && l.Operation != Idle {
		for i := range l.conns {
			if l.conns[i].fd >= 0 {
				l.readOne(&l.conns[i], &r)
			}
		}
	}
	r.at, r.read = l.Clock.Now(), l.carried
	return r
}

// readOne adds the counters of a connection.
func (l *loop) readOne(c *conn, r *counterTotals) {
	tcpInfo(c.fd, &l.info)
	r.acked += min(int64(l.info.Bytes_acked), c.written)
	r.segments.add(segmentsOf(&l.info))
}

// windowOver reports whether the window has ended, so that no operation may start.
func (l *loop) windowOver(now int64) bool { return now >= l.Window.To.Load() || l.Stop.Load() }

// queue lets connection i run without an event.
func (l *loop) queue(i int) {
	if c := &l.conns[i]; !c.queued {
		c.queued = true
		l.runQueue = append(l.runQueue, int32(i))
	}
}

// Check checks the timeouts of all connections, and the retry of failed ones.
func (l *loop) Check(now int64) (next int64) {
	for i := range l.conns {
		c := &l.conns[i]
		if c.state == refused && now-c.lastProgressAt > retryAfter && l.Operation != Idle {
			c.state = closed
			l.queue(i)
		}
		if c.fd < 0 {
			continue
		}
		from := c.lastProgressAt
		if c.state != connecting {
			from = l.task.waits(c)
		}
		if from != 0 && now-from > int64(l.Timeout) {
			l.fail(i, oneloop.KindTimeout, "connection %d made no progress within %v", i, l.Timeout)
		}
	}
	return now + min(oneloop.Nap, max(int64(l.Timeout)/20, 1e6))
}

// count counts a successful operation that ended now and took the given time.
func (l *loop) count(now, took int64) {
	l.Done.Add(1)
	switch {
	case l.Window.Holds(now):
		l.Messages++
		l.Latency.Record(took)
	case now < l.Window.From.Load():
		l.WarmMessages++
	}
}

// recordBulk counts bytes of bulk data.
func (l *loop) recordBulk(c *conn, n int) {
	l.carried += int64(n)
	c.lastProgressAt = l.Clock.Now()
	l.Done.Store(l.carried / bulkMessage)
}
