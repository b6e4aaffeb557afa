package stackload

import (
	"runtime"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
)

const (
	startDelay    = int64(20e6) // ns; from the last connection to the first operation
	maxConnecting = 64          // concurrent connection attempts before the first operation
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
	poll   *oneloop.Poll
	server oneloop.Server
	task   task

	conns       []conn
	runQueue    []int32 // connections that run without an event
	readyCount  int64   // connections that are ready before the load starts
	busy        int     // operations under way that will end
	nextCheckAt int64   // ns; time of the next checkTimeouts
	dialErr     error   // failure of a connection before the load

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

func newLoop(c Config, s *oneloop.State) (*loop, error) {
	server, err := oneloop.ParseServer(c.server())
	if err != nil {
		return nil, err
	}
	poll, err := oneloop.NewPoll()
	if err != nil {
		return nil, err
	}
	l := &loop{Config: c, State: s, poll: poll, server: server, conns: make([]conn, c.Connections), counts: newCounts()}
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
	return l, nil
}

// close closes the sockets. It must be called after run has returned.
func (l *loop) close() {
	for i := range l.conns {
		if fd := l.conns[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // nothing is lost
		}
	}
	l.poll.Close()
}

// run connects, works until the window is over, and waits for the operations under way.
func (l *loop) run() {
	defer close(l.Ended)
	runtime.LockOSThread()
	if l.Err = l.connectAll(); l.Err != nil {
		return
	}
	now := l.Clock.Now()
	l.Connected.Store(now)
	l.Begin(now+startDelay, l.Duration)
	close(l.Ready)
	l.work()
	close(l.Over)
	l.finishOperations()
}

// work runs operations until the window is over or the run is ended early.
func (l *loop) work() {
	for start := l.Start.Load(); !l.Stop.Load() && l.Clock.Now() < start; {
		l.turnOnce(min(start, l.Clock.Now()+oneloop.Nap))
	}
	for i := range l.conns {
		l.queue(i)
	}
	for !l.Stop.Load() {
		now := l.Clock.Now()
		if l.From == 0 {
			if l.Open(now); l.From != 0 {
				l.windowStart = l.read()
				l.warmMessages += l.carried / bulkMessage
			}
		}
		if now >= l.Window.To.Load() {
			break
		}
		until := l.Until(min(l.nextCheckAt, now+oneloop.Nap))
		if len(l.runQueue) > 0 {
			until = 0
		}
		l.turnOnce(until)
	}
	l.endedEarly = l.Clock.Now() < l.Window.To.Load()
	l.Window.To.Store(min(l.Window.To.Load(), l.Clock.Now()))
	l.account()
}

// account computes the figures of the window.
func (l *loop) account() {
	last := l.read()
	l.Shut(l.Window.To.Load())
	switch l.Operation {
	case In, Out, RR:
		l.segments, l.span = last.minus(l.windowStart.segments), last.at-l.windowStart.at
	case Idle:
		l.messages = l.Alive.Load()
	}
	switch l.Operation {
	case In:
		l.bytes = last.acked - l.windowStart.acked
	case Out:
		l.bytes = last.read - l.windowStart.read
	}
}

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

// finishOperations waits for the operations under way at the end of the window, unless the run was
// stopped.
func (l *loop) finishOperations() {
	if l.From == 0 {
		return
	}
	l.task.measured()
	for !l.Stop.Load() && l.busy > 0 {
		until := l.nextCheckAt
		if len(l.runQueue) > 0 {
			until = 0
		}
		l.turnOnce(until)
	}
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

// turnOnce waits for events, at most until the given time, and handles them and the queued
// connections.
func (l *loop) turnOnce(until int64) {
	l.poll.Wait(l.Clock, until, 0, l.handle)
	n := len(l.runQueue)
	for _, i := range l.runQueue[:n] {
		c := &l.conns[i]
		c.queued = false
		if c.state == closed && l.Start.Load() != 0 && !l.windowOver(l.Clock.Now()) {
			l.connect(int(i))
		} else if c.fd >= 0 && c.state != connecting {
			l.task.turn(int(i), 0)
		}
	}
	l.runQueue = l.runQueue[:copy(l.runQueue, l.runQueue[n:])]
	if now := l.Clock.Now(); now >= l.nextCheckAt {
		l.checkTimeouts(now)
	}
}

// checkTimeouts checks the timeouts of all connections, and the retry of failed ones.
func (l *loop) checkTimeouts(now int64) {
	l.nextCheckAt = now + min(oneloop.Nap, max(int64(l.Timeout)/20, 1e6))
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
			l.fail(i, kindTimeout, "connection %d made no progress within %v", i, l.Timeout)
		}
	}
}

// count counts a successful operation that ended now and took the given time.
func (l *loop) count(now, took int64) {
	l.Done.Add(1)
	switch {
	case l.Window.Holds(now):
		l.messages++
		l.times.Record(took)
	case now < l.Window.From.Load():
		l.warmMessages++
	}
}

// recordBulk counts bytes of bulk data.
func (l *loop) recordBulk(c *conn, n int) {
	l.carried += int64(n)
	c.lastProgressAt = l.Clock.Now()
	l.Done.Store(l.carried / bulkMessage)
}
