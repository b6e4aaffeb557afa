package stack

import (
	"runtime"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/oneloop"
)

const (
	startDelay = int64(20e6) // ns; from the last connection to the first operation
	atOnce     = 64          // connections being made at once before the first operation
)

// task is what connections are made for.
type task interface {
	opened(i int) // connection i is there
	// something is new on connection i, or its turn has come without that
	turn(i int, events uint32)
	measured() // the window is over: what is under way is to come to its end
	// ns; since when the open connection c has to get on, 0 when it need not
	waits(c *conn) (from int64)
}

// loop carries out one operation over TCP, from one locked thread. Nothing in it allocates while
// all goes well.
type loop struct {
	Config
	*oneloop.State
	poll   *oneloop.Poll
	server oneloop.Server
	task   task

	conns   []conn
	again   []int32 // connections whose turn comes without an event
	there   int64   // connections that are as they should be before the load begins
	busy    int     // operations under way, of those that have an end
	look    int64   // ns; when to look round next
	dialing error   // why a connection before the load was not made

	carried int64 // bytes of bulk, of in what a buffer took
	first   reading
	gone    reading // of connections that were closed
	info    unix.TCPInfo
	counts
}

// reading is what connections had done at a time.
type reading struct {
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

// close is called when run has ended.
func (l *loop) close() {
	for i := range l.conns {
		if fd := l.conns[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // nothing is lost
		}
	}
	l.poll.Close()
}

// run connects, works until the window is over, and decides what is under way then.
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
	l.decide()
}

// work runs until the window is over or something ends it before.
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
				l.first = l.read()
				l.warm += l.carried / bulkMessage
			}
		}
		if now >= l.Window.To.Load() {
			break
		}
		until := l.Until(min(l.look, now+oneloop.Nap))
		if len(l.again) > 0 {
			until = 0
		}
		l.turnOnce(until)
	}
	l.cut = l.Clock.Now() < l.Window.To.Load()
	l.Window.To.Store(min(l.Window.To.Load(), l.Clock.Now()))
	l.account()
}

// account closes the books of the window.
func (l *loop) account() {
	last := l.read()
	l.Shut(l.Window.To.Load())
	switch l.Operation {
	case In, Out, RR:
		l.segments, l.span = last.minus(l.first.segments), last.at-l.first.at
	case Idle:
		l.messages = l.Alive.Load()
	}
	switch l.Operation {
	case In:
		l.bytes = last.acked - l.first.acked
	case Out:
		l.bytes = last.read - l.first.read
	}
}

// read reads what the connections have done so far. Of clients that connect again and again each
// does that for its own.
func (l *loop) read() reading {
	r := l.gone
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

// readOne adds what a connection has done so far.
func (l *loop) readOne(c *conn, r *reading) {
	tcpInfo(c.fd, &l.info)
	r.acked += min(int64(l.info.Bytes_acked), c.written)
	r.segments.add(segmentsOf(&l.info))
}

// decide waits for what was under way when the window ended, unless the run was ended from outside.
func (l *loop) decide() {
	if l.From == 0 {
		return
	}
	l.task.measured()
	for !l.Stop.Load() && l.busy > 0 {
		until := l.look
		if len(l.again) > 0 {
			until = 0
		}
		l.turnOnce(until)
	}
}

// over says that the window has ended: nothing is begun any more.
func (l *loop) over(now int64) bool { return now >= l.Window.To.Load() || l.Stop.Load() }

// queue has connection i get its turn without an event.
func (l *loop) queue(i int) {
	if c := &l.conns[i]; !c.queued {
		c.queued = true
		l.again = append(l.again, int32(i))
	}
}

// turnOnce waits until something happens, at the longest until the given time, and deals with it
// and with those whose turn it is.
func (l *loop) turnOnce(until int64) {
	l.poll.Wait(l.Clock, until, 0, l.handle)
	n := len(l.again)
	for _, i := range l.again[:n] {
		c := &l.conns[i]
		c.queued = false
		if c.state == closed && l.Start.Load() != 0 && !l.over(l.Clock.Now()) {
			l.connect(int(i))
		} else if c.fd >= 0 && c.state != connecting {
			l.task.turn(int(i), 0)
		}
	}
	l.again = l.again[:copy(l.again, l.again[n:])]
	if now := l.Clock.Now(); now >= l.look {
		l.lookRound(now)
	}
}

// lookRound finds what took too long and what may be tried again.
func (l *loop) lookRound(now int64) {
	l.look = now + min(oneloop.Nap, max(int64(l.Timeout)/20, 1e6))
	for i := range l.conns {
		c := &l.conns[i]
		if c.state == refused && now-c.since > retryAfter && l.Operation != Idle {
			c.state = closed
			l.queue(i)
		}
		if c.fd < 0 {
			continue
		}
		from := c.since
		if c.state != connecting {
			from = l.task.waits(c)
		}
		if from != 0 && now-from > int64(l.Timeout) {
			l.fail(i, kindTimeout, "connection %d did not get on within %v", i, l.Timeout)
		}
	}
}

// count counts an operation of connection i that took its time and ended well now.
func (l *loop) count(now, took int64) {
	l.Done.Add(1)
	switch {
	case l.Window.Holds(now):
		l.messages++
		l.times.Record(took)
	case now < l.Window.From.Load():
		l.warm++
	}
}

// moved counts bytes of bulk.
func (l *loop) moved(c *conn, n int) {
	l.carried += int64(n)
	c.since = l.Clock.Now()
	l.Done.Store(l.carried / bulkMessage)
}
