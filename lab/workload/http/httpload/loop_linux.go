package httpload

import (
	"crypto/tls"
	"runtime"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/schedule"
	"weir/lab/workload/http/httpload/response"
)

const (
	startDelay    = int64(20e6) // ns; from the last connection to the first request
	maxConnecting = 64          // concurrent connection attempts before the first request
)

// loop sends requests and receives responses on one locked thread. Successful plain
// requests do not allocate.
type loop struct {
	Config
	*oneloop.State
	poll      *oneloop.Poll
	server    oneloop.Server
	addr      string // of the server, an IP address and a port
	request   []byte
	tlsConfig *tls.Config // nil: plain HTTP
	bodies    *bodies

	conns  []conn
	known  response.Known // head of the server
	buffer []byte
	// connections that became free, for proceedAll
	freed []int32
	// connections for the next requests in the open loop without keep-alive
	free []int32
	busy int // connections with a request under way

	open         bool              // the loop is open, not closed
	schedule     schedule.Schedule // of an open loop that has begun
	order        schedule.Order    // of schedule; nil before the open loop begins
	startedCount int64             // requests started
	nextCheckAt  int64             // ns; time of the next checkTimeouts
	counts
	dialErr error // failure of a connection before the first request
}

func newLoop(c Config, s *oneloop.State, addr string, tlsConfig *tls.Config, want *bodies) (*loop, error) {
	server, err := oneloop.ParseServer(addr)
	if err != nil {
		return nil, err
	}
	poll, err := oneloop.NewPoll()
	if err != nil {
		return nil, err
	}
	l := &loop{Config: c, State: s, poll: poll, server: server, addr: addr, request: c.request(), tlsConfig: tlsConfig, bodies: want,
		conns: make([]conn, c.Connections), buffer: make([]byte, 256<<10), open: c.Rate > 0, counts: newCounts()}
	for i := range l.conns {
		l.conns[i].fd = -1
		l.conns[i].answer.Share(&l.known)
	}
	return l, nil
}

// close closes the sockets. It must be called after run has returned.
func (l *loop) close() {
	for i := range l.conns {
		l.closeConn(i)
	}
	l.poll.Close()
}

// run connects, offers requests until the window is over, and waits for the last responses.
func (l *loop) run() {
	defer close(l.Ended)
	runtime.LockOSThread()
	defer l.stopHandshakes()
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
	if l.open {
		l.schedule = l.Config.schedule(start)
		l.order = l.schedule.Order()
	}
	for i := range l.conns {
		switch {
		case !l.open:
			l.freed = append(l.freed, int32(i))
		case l.Config.Close:
			l.free = append(l.free, int32(i))
		default:
			l.conns[i].next = l.schedule.First(i)
		}
	}
}

// offer sends requests until the window is over or the run is ended early.
func (l *loop) offer() {
	l.sleepUntil(l.Start.Load())
	for !l.Stop.Load() && !l.allComplete() && !l.errorLimitReached() {
		now := l.Clock.Now()
		l.Open(now)
		if now >= l.Window.To.Load() {
			return
		}
		l.proceedAll(now)
		until := l.Until(l.dispatch(now))
		if until > now+oneloop.Nap { // otherwise the next turn is soon
			until = min(until, l.nextCheckAt)
		}
		l.turnOnce(until)
	}
	l.endedEarly = !l.allComplete()
	l.Window.To.Store(min(l.Window.To.Load(), max(l.lastEndAt, l.Clock.Now())))
}

// allComplete reports whether all requests of a closed loop are complete.
func (l *loop) allComplete() bool {
	return l.Requests > 0 && l.startedCount == l.Requests && l.busy == 0
}

// errorLimitReached reports whether the limit of errors is reached.
func (l *loop) errorLimitReached() bool { return l.MaxErrors > 0 && l.Failed.Load() >= l.MaxErrors }

// finish ends the window and starts the requests that were due in it.
func (l *loop) finish() {
	end := l.Window.To.Load()
	if l.Requests > 0 && l.allComplete() {
		end = l.lastEndAt
	}
	l.ended = true
	l.Shut(end)
	for l.dispatch(end) < end && l.open { // includes all requests that were due
	}
}

// drain waits for the requests that are not complete, unless the run was stopped.
func (l *loop) drain() {
	for !l.Stop.Load() && !l.errorLimitReached() && (l.busy > 0 || l.waiting() > 0) {
		l.proceedAll(l.Clock.Now())
		l.turnOnce(l.nextCheckAt)
	}
	l.unfinished = int64(l.busy) + l.waiting()
}

// waiting counts the requests that were due but not started, because their connections were busy.
func (l *loop) waiting() (n int64) {
	for i := range l.conns {
		n += int64(l.conns[i].dueCount - l.conns[i].next.K)
	}
	return n
}

// turnOnce waits for events, at most until the given time, and handles them.
func (l *loop) turnOnce(until int64) {
	l.poll.Wait(l.Clock, until, l.timerAfter(until), func(i int, events uint32) {
		l.handle(i, events)
		if l.order != nil && !l.ended {
			if at, _ := l.order.Peek(); l.Clock.Now() >= at {
				l.dispatch(l.Clock.Now())
			}
		}
	})
	if now := l.Clock.Now(); now >= l.nextCheckAt {
		l.checkTimeouts(now)
	}
}

// timerAfter returns the likely time of the next timer after the given one, or 0 if it is not
// known.
func (l *loop) timerAfter(until int64) int64 {
	if l.order == nil {
		return 0
	}
	if at, _ := l.order.Peek(); until != at {
		return 0
	}
	return l.order.Then()
}

// sleepUntil handles events until the given time.
func (l *loop) sleepUntil(at int64) {
	for !l.Stop.Load() && l.Clock.Now() < at {
		l.turnOnce(min(at, l.Clock.Now()+oneloop.Nap))
	}
}

// checkTimeouts checks the timeouts of all connections, and the retry of failed ones.
func (l *loop) checkTimeouts(now int64) {
	timeout := int64(l.timeout())
	l.nextCheckAt = now + min(oneloop.Nap, max(timeout/20, 1e6))
	for i := range l.conns {
		c := &l.conns[i]
		switch {
		case c.hasRequest && now-c.dueAt > timeout:
			l.fail(i, now, kindTimeout, "no complete response within %v", l.timeout())
		case c.state == ending && now-c.stateSince > oneloop.Nap:
			l.closeConn(i) // the server should have closed it
			l.freed = append(l.freed, int32(i))
		case c.state == refused && now-c.stateSince > retryAfter:
			c.state = closed
			l.freed = append(l.freed, int32(i))
		}
		for c.next.K < c.dueCount && now-c.next.At > timeout {
			l.abandonOldest(i, now)
		}
	}
}

// proceedAll starts the next requests of the connections that became free. A connection that fails
// at once is handled in the next call.
func (l *loop) proceedAll(now int64) {
	n := len(l.freed)
	for _, i := range l.freed[:n] {
		l.proceed(int(i), now)
	}
	l.freed = l.freed[:copy(l.freed, l.freed[n:])]
}
