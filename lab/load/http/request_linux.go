package http

import (
	"math"

	"weir/lab/load/http/response"
)

// maxDispatch is the number of requests that are started before responses are read again.
const maxDispatch = 256

// dispatch starts the requests that are due, at most maxDispatch and none after the window. It
// returns the due time of the next one.
func (l *loop) dispatch(now int64) int64 {
	if l.period == 0 {
		return math.MaxInt64
	}
	at, end := l.due(l.turn), l.Window.To.Load()
	for n := 0; at <= now && at < end && n < maxDispatch; at, n = l.due(l.turn), n+1 {
		if l.Window.Holds(at) {
			l.offered++
		}
		if l.turn++; l.Close {
			l.dispatchFresh(at, now)
		} else {
			l.dispatchFixed(l.turn-1, at, now)
		}
		now = max(now, l.Clock.Now())
	}
	return at
}

// dispatchFixed starts request k on its connection, or leaves it until the connection is free.
func (l *loop) dispatchFixed(k, at, now int64) {
	i := int(k % int64(len(l.conns)))
	c := &l.conns[i]
	if c.next == k && (c.state == idle || c.state == closed) {
		c.next += int64(len(l.conns))
		l.late(at, now)
		l.beginRequest(i, at, now)
	} else if l.Window.Holds(at) {
		l.behind++
	}
}

// dispatchFresh starts a request on a new connection.
func (l *loop) dispatchFresh(at, now int64) {
	if len(l.free) == 0 {
		l.lose(at, now, kindLimit, "%d were under way at once: allow more connections", len(l.conns))
		return
	}
	i := int(l.free[len(l.free)-1])
	l.free = l.free[:len(l.free)-1]
	l.late(at, now)
	l.beginRequest(i, at, now)
}

// late records the lateness of a request whose connection was free.
func (l *loop) late(at, now int64) {
	if now-at > l.Worst.Load() {
		l.Worst.Store(now - at)
	}
	if l.Window.Holds(at) {
		l.lateness.Record(now - at)
	}
}

// proceed starts the next request on connection i, if it is free and a request is due.
func (l *loop) proceed(i int, now int64) {
	c := &l.conns[i]
	switch {
	case c.state != idle && c.state != closed:
	case l.period == 0:
		if !l.ended && (l.Requests == 0 || l.begun < l.Requests) {
			l.beginRequest(i, now, now)
		}
	case l.Close:
		l.free = append(l.free, int32(i))
	case c.next < l.turn:
		at := l.due(c.next)
		c.next += int64(len(l.conns))
		l.beginRequest(i, at, now)
	}
}

// whole handles a complete response.
func (l *loop) whole(i int, now int64) {
	c := &l.conns[i]
	switch a := &c.answer; {
	case a.Status != 200:
		l.count(i, now, kindStatus, "status %d", a.Status)
	case !l.bodies.right(&c.body, a.Coding):
		l.count(i, now, kindBody, "its %d bytes are not the %d expected", c.body.at, len(l.bodies.want))
	default:
		l.right(c, now)
	}
	switch {
	case c.hangup:
		l.shut(i)
	case c.answer.Close || l.Close:
		c.state, c.since = ending, now
		return
	default:
		c.state = idle
	}
	l.proceed(i, now)
}

// right counts a complete and correct response.
func (l *loop) right(c *conn, now int64) {
	c.wants = false
	l.busy--
	l.last = now
	l.Done.Add(1)
	if l.period > 0 && l.Window.Holds(c.at) {
		l.answeredDue++
		l.latency.Record(now - c.at)
	}
	if !l.Window.Holds(now) {
		if now < l.Window.From.Load() {
			l.warm++
		}
		return
	}
	l.messages++
	l.bytes += c.received
	l.bodyBytes += c.body.at
	if c.answer.Coding != response.Identity {
		l.encoded++
	}
	l.waits.Record(c.first - c.connected)
	l.processing.Record(now - c.connected)
	l.totals.Record(now - c.begun)
}

// fail counts a failure of connection i, and of its request if there is one, and closes it.
func (l *loop) fail(i int, now int64, kind, detail string, args ...any) {
	if l.conns[i].wants {
		l.count(i, now, kind, detail, args...)
	} else {
		l.fails.Add(kind, 1, "connection %d: "+detail, append([]any{i}, args...)...)
		l.Failed.Add(1)
	}
	l.shut(i)
	l.again = append(l.again, int32(i))
}

// count counts the failure of connection i's request.
func (l *loop) count(i int, now int64, kind, detail string, args ...any) {
	c := &l.conns[i]
	c.wants = false
	l.busy--
	l.lose(c.at, now, kind, "connection %d: "+detail, append([]any{i}, args...)...)
}

// lose counts a request that was due at the given time as failed.
func (l *loop) lose(at, now int64, kind, detail string, args ...any) {
	l.last = now
	l.Failed.Add(1)
	l.fails.Add(kind, 1, detail, args...)
	if l.period > 0 {
		now = at
	}
	if l.Window.Holds(now) {
		l.failedIn++
	}
}

// abandon counts the oldest request of connection i that was not started as failed.
func (l *loop) abandon(i int, now int64) {
	c := &l.conns[i]
	at := l.due(c.next)
	c.next += int64(len(l.conns))
	l.lose(at, now, kindTimeout, "connection %d: busy for %v since a request was due", i, l.timeout())
}
