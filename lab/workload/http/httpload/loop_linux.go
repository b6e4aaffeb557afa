package httpload

import (
	"crypto/tls"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
)

// loop sends requests and receives responses on one locked thread. Successful plain
// requests do not allocate.
type loop struct {
	Config
	*oneloop.State
	tlsConfig *tls.Config // nil: plain HTTP
	mixer     mixer

	conns  []conn // of HTTP/2 first the carriers, then the slots of their streams
	buffer []byte
	// connections that became free, for Work
	freed []int32
	// connections for the next requests in the open loop without keep-alive
	free []int32
	busy int // connections with a request under way

	// of HTTP/2
	carriers   int       // 0: HTTP/1.1
	sessions   []session // of the carriers
	unflushed  []int32   // carriers with output
	receivedAt int64     // ns; time of the last bytes

	open         bool              // the loop is open, not closed
	schedule     schedule.Schedule // of an open loop that has begun
	startedCount int64             // requests started
	freshCount   uint64            // requests that became due without keep-alive
	counts
}

func newLoop(c Config, s *oneloop.State, tlsConfig *tls.Config, requests []*prepared) *loop {
	l := &loop{Config: c, State: s, tlsConfig: tlsConfig, mixer: newMixer(requests, c.Seed),
		conns: make([]conn, c.Connections), buffer: make([]byte, 256<<10), open: c.Rate > 0, counts: newCounts()}
	if c.HTTP2 {
		l.carriers, l.sessions = c.Connections, make([]session, c.Connections)
		l.conns = make([]conn, c.Connections*(1+max(c.Streams, 1)))
	}
	for i := range l.conns {
		if l.conns[i].fd = -1; i >= l.carriers && c.HTTP2 {
			l.conns[i].state = idle
		}
	}
	return l
}

// close closes the sockets. It must be called after the run.
func (l *loop) close() {
	for i := range l.conns {
		l.closeConn(i)
	}
}

// Leave ends the coroutines of unfinished handshakes, which belong to the loop's thread.
func (l *loop) Leave() {
	for i := range l.conns {
		if c := &l.conns[i]; c.state == handshaking {
			c.tls.Stop()
		}
	}
}

// Begun implements oneloop.Loop.
func (l *loop) Begun() {
	if l.open {
		l.schedule = l.Config.schedule(l.Start.Load())
		l.Order = l.schedule.Order()
	}
	for i := l.carriers; i < len(l.conns); i++ {
		switch {
		case !l.open:
			l.freed = append(l.freed, int32(i))
		case l.Close:
			l.free = append(l.free, int32(i))
		default:
			l.conns[i].next = l.schedule.First(i - l.carriers)
		}
	}
}

// Work starts the next requests of the connections that became free, and reports whether more have
// become so. A connection that fails at once is handled in the next call.
func (l *loop) Work(now int64) bool {
	n := len(l.freed)
	for _, i := range l.freed[:n] {
		l.proceed(int(i), now)
	}
	l.freed = l.freed[:copy(l.freed, l.freed[n:])]
	l.flushSessions()
	return len(l.freed) > 0
}

// Complete implements oneloop.Loop.
func (l *loop) Complete(now int64) (end int64) {
	switch {
	case l.allComplete():
		return l.lastEndAt
	case l.errorLimitReached():
		return now
	}
	return tally.Unset
}

// allComplete reports whether all requests of a closed loop are complete.
func (l *loop) allComplete() bool {
	return l.Requests > 0 && l.startedCount == l.Requests && l.busy == 0
}

// errorLimitReached reports whether the limit of errors is reached.
func (l *loop) errorLimitReached() bool { return l.MaxErrors > 0 && l.Failed.Load() >= l.MaxErrors }

// Finish implements oneloop.Loop.
func (l *loop) Finish(int64) {
	l.EndedEarly = l.EndedEarly && !l.allComplete()
	l.flushSessions()
}

// Waiting reports whether requests are not complete.
func (l *loop) Waiting(int64) bool { return !l.errorLimitReached() && l.unfinished() > 0 }

// unfinished counts the requests that are under way, or were due but not started because their
// connections were busy.
func (l *loop) unfinished() int64 {
	n := int64(l.busy)
	for i := range l.conns {
		n += int64(l.conns[i].dueCount - l.conns[i].next.K)
	}
	return n
}

// Check checks the timeouts of all connections, and the retry of failed ones.
func (l *loop) Check(now int64) (next int64) {
	timeout := int64(l.timeout())
	for i := l.carriers; i < len(l.conns); i++ {
		c := &l.conns[i]
		switch {
		case c.hasRequest && now-c.dueAt > timeout:
			l.fail(i, now, oneloop.KindTimeout, "no complete response within %v", l.timeout())
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
	l.checkSessions(now)
	return now + min(oneloop.Nap, max(timeout/20, 1e6))
}
