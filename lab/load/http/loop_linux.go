package http

import (
	"runtime"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/oneloop"
)

const (
	startDelay = int64(20e6) // ns; from the last connection to the first request
	atOnce     = 64          // concurrent connection attempts before the first request
)

// loop sends requests and receives responses on one locked thread. Successful requests do not
// allocate.
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
	// connections that became free, for proceedAll
	again []int32
	// connections for the next requests in the open loop without keep-alive
	free []int32
	busy int // connections with a request under way

	period float64 // ns between requests; 0 in the closed loop
	turn   int64   // number of the next request that becomes due
	begun  int64   // requests started
	look   int64   // ns; time of the next lookRound
	counts
	dialing error // failure of a connection before the first request
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

// close closes the sockets. It must be called after run has returned.
func (l *loop) close() {
	for i := range l.conns {
		if fd := l.conns[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // nothing is lost
		}
	}
	l.poll.Close()
}

// run connects, offers requests until the window is over, and waits for the last responses.
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

// begin sets the time of the first request and prepares the connections.
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

// due returns the time at which request k is due.
func (l *loop) due(k int64) int64 { return l.Start.Load() + int64(float64(k)*l.period) }

// offer sends requests until the window is over or the run is ended early.
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
		if until > now+oneloop.Nap { // otherwise the next turn is soon
			until = min(until, l.look)
		}
		l.turnOnce(until)
	}
	l.cut = !l.spent()
	l.Window.To.Store(min(l.Window.To.Load(), max(l.last, l.Clock.Now())))
}

// spent reports whether all requests of a closed loop are complete.
func (l *loop) spent() bool { return l.Requests > 0 && l.begun == l.Requests && l.busy == 0 }

// tooMany reports whether the limit of errors is reached.
func (l *loop) tooMany() bool { return l.MaxErrors > 0 && l.Failed.Load() >= l.MaxErrors }

// finish ends the window and starts the requests that were due in it.
func (l *loop) finish() {
	end := l.Window.To.Load()
	if l.Requests > 0 && l.spent() {
		end = l.last
	}
	l.ended = true
	l.Shut(end)
	for l.dispatch(end) < end && l.period > 0 { // includes all requests that were due
	}
}

// drain waits for the requests that are not complete, unless the run was stopped.
func (l *loop) drain() {
	for !l.Stop.Load() && !l.tooMany() && (l.busy > 0 || l.waiting() > 0) {
		l.proceedAll(l.Clock.Now())
		l.turnOnce(l.look)
	}
	l.unfinished = int64(l.busy) + l.waiting()
}

// waiting counts the requests that were due but not started, because their connections were busy.
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

// turnOnce waits for events, at most until the given time, and handles them.
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

// after returns the likely time of the next timer after the given one, or 0 if it is not known.
func (l *loop) after(until int64) int64 {
	if l.period == 0 || l.Start.Load() == 0 || until != l.due(l.turn) {
		return 0
	}
	return l.due(l.turn + 1)
}

// sleepUntil handles events until the given time.
func (l *loop) sleepUntil(at int64) {
	for !l.Stop.Load() && l.Clock.Now() < at {
		l.turnOnce(min(at, l.Clock.Now()+oneloop.Nap))
	}
}

// lookRound checks the timeouts of all connections, and the retry of failed ones.
func (l *loop) lookRound(now int64) {
	timeout := int64(l.timeout())
	l.look = now + min(oneloop.Nap, max(timeout/20, 1e6))
	for i := range l.conns {
		c := &l.conns[i]
		switch {
		case c.wants && now-c.at > timeout:
			l.fail(i, now, kindTimeout, "no complete response within %v", l.timeout())
		case c.state == ending && now-c.since > oneloop.Nap:
			l.shut(i) // the server should have closed it
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

// proceedAll starts the next requests of the connections that became free. A connection that fails
// at once is handled in the next call.
func (l *loop) proceedAll(now int64) {
	n := len(l.again)
	for _, i := range l.again[:n] {
		l.proceed(int(i), now)
	}
	l.again = l.again[:copy(l.again, l.again[n:])]
}
