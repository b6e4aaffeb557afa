package http

import (
	"runtime"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/oneloop"
)

const (
	startDelay = int64(20e6) // ns; from the last connection to the first request
	atOnce     = 64          // connections being made at once before the first request
)

// loop sends requests and takes answers, from one locked thread. Nothing in it allocates while all
// goes well.
type loop struct {
	Config
	*oneloop.State
	poll    *oneloop.Poll
	server  oneloop.Server
	addr    string // of the server, an IP address and a port
	request []byte
	bodies  *bodies

	conns  []conn
	buffer []byte
	// connections that are free and were not asked yet whether they have something to do
	again []int32
	// connections that may carry the next request, in the open loop without keep-alive
	free []int32
	busy int // connections with a request under way

	period float64 // ns between requests; 0 in the closed loop
	turn   int64   // number of the next request that becomes due
	begun  int64   // requests, in the closed loop
	look   int64   // ns; when to look round next
	counts
	dialing error // why a connection before the first request was not made
}

func newLoop(c Config, s *oneloop.State, addr string, want *bodies) (*loop, error) {
	server, err := oneloop.ParseServer(addr)
	if err != nil {
		return nil, err
	}
	poll, err := oneloop.NewPoll()
	if err != nil {
		return nil, err
	}
	l := &loop{Config: c, State: s, poll: poll, server: server, addr: addr, request: c.request(), bodies: want,
		conns: make([]conn, c.Connections), buffer: make([]byte, 256<<10), counts: newCounts()}
	if c.Rate > 0 {
		l.period = 1e9 / c.Rate
	}
	for i := range l.conns {
		l.conns[i].fd, l.conns[i].next = -1, int64(i)
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

// run connects, offers requests until the window is over, and waits for the last answers.
func (l *loop) run() {
	defer close(l.Ended)
	runtime.LockOSThread()
	if l.Err = l.connectAll(); l.Err != nil {
		return
	}
	now := l.Clock.Now()
	l.Connected.Store(now)
	l.begin(now + startDelay)
	close(l.Ready)
	l.offer()
	l.finish()
	close(l.Over)
	l.drain()
}

// begin fixes when the first request is due, and every connection's place.
func (l *loop) begin(start int64) {
	l.Begin(start, l.Duration)
	for i := range l.conns {
		switch {
		case l.period == 0:
			l.again = append(l.again, int32(i))
		case l.Config.Close:
			l.free = append(l.free, int32(i))
		}
	}
}

// due is when request k is due.
func (l *loop) due(k int64) int64 { return l.Start.Load() + int64(float64(k)*l.period) }

// offer runs until the window is over or something ends it before.
func (l *loop) offer() {
	l.sleepUntil(l.Start.Load())
	for !l.Stop.Load() && !l.spent() && !l.tooMany() {
		now := l.Clock.Now()
		l.Open(now)
		if now >= l.Window.To.Load() {
			return
		}
		l.proceedAll(now)
		until := l.Until(l.dispatch(now))
		if until > now+oneloop.Nap { // otherwise there is a turn soon in any case
			until = min(until, l.look)
		}
		l.turnOnce(until)
	}
	l.cut = !l.spent()
	l.Window.To.Store(min(l.Window.To.Load(), max(l.last, l.Clock.Now())))
}

// spent says that a closed loop has had all its requests decided.
func (l *loop) spent() bool { return l.Requests > 0 && l.begun == l.Requests && l.busy == 0 }

// tooMany says that there were as many errors as may be.
func (l *loop) tooMany() bool { return l.MaxErrors > 0 && l.Failed.Load() >= l.MaxErrors }

// finish closes the books of the window.
func (l *loop) finish() {
	end := l.Window.To.Load()
	if l.Requests > 0 && l.spent() {
		end = l.last
	}
	l.ended = true
	l.Shut(end)
	for l.dispatch(end) < end && l.period > 0 { // nothing that was due is left out
	}
}

// drain waits for what is still to be decided, unless the run was ended from outside.
func (l *loop) drain() {
	for !l.Stop.Load() && !l.tooMany() && (l.busy > 0 || l.waiting() > 0) {
		l.proceedAll(l.Clock.Now())
		l.turnOnce(l.look)
	}
	l.unfinished = int64(l.busy) + l.waiting()
}

// waiting is how many requests were due and not begun, because their connections were busy.
func (l *loop) waiting() (n int64) {
	if l.period == 0 || l.Close {
		return 0
	}
	for i := range l.conns {
		if left := l.turn - l.conns[i].next; left > 0 {
			n += (left + int64(len(l.conns)) - 1) / int64(len(l.conns))
		}
	}
	return n
}

// turnOnce waits until something happens, at the longest until the given time, and deals with it.
func (l *loop) turnOnce(until int64) {
	l.poll.Wait(l.Clock, until, l.after(until), func(i int, events uint32) {
		l.handle(i, events)
		if l.period > 0 && !l.ended && l.Start.Load() != 0 {
			if now := l.Clock.Now(); now >= l.due(l.turn) {
				l.dispatch(now)
			}
		}
	})
	if now := l.Clock.Now(); now >= l.look {
		l.lookRound(now)
	}
}

// after is when the alarm is likely to be needed after the given time, 0 if there is no saying.
func (l *loop) after(until int64) int64 {
	if l.period == 0 || l.Start.Load() == 0 || until != l.due(l.turn) {
		return 0
	}
	return l.due(l.turn + 1)
}

func (l *loop) sleepUntil(at int64) {
	for !l.Stop.Load() && l.Clock.Now() < at {
		l.turnOnce(min(at, l.Clock.Now()+oneloop.Nap))
	}
}

// lookRound finds what took too long and what may be tried again.
func (l *loop) lookRound(now int64) {
	timeout := int64(l.timeout())
	l.look = now + min(oneloop.Nap, max(timeout/20, 1e6))
	for i := range l.conns {
		c := &l.conns[i]
		switch {
		case c.wants && now-c.at > timeout:
			l.fail(i, now, kindTimeout, "no whole answer within %v", l.timeout())
		case c.state == ending && now-c.since > oneloop.Nap:
			l.shut(i) // the server was to close it
			l.again = append(l.again, int32(i))
		case c.state == refused && now-c.since > retryAfter:
			c.state = closed
			l.again = append(l.again, int32(i))
		}
		for l.period > 0 && !l.Close && c.next < l.turn && now-l.due(c.next) > timeout {
			l.abandon(i, now)
		}
	}
}

// proceedAll gives connections that became free what they have to do. Those that fail at once come
// next time.
func (l *loop) proceedAll(now int64) {
	n := len(l.again)
	for _, i := range l.again[:n] {
		l.proceed(int(i), now)
	}
	l.again = l.again[:copy(l.again, l.again[n:])]
}
