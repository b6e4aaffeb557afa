package httpload

import (
	"weir/lab/internal/oneloop"
	"weir/lab/workload/http/httpload/response"
)

// Send starts a request that was due at the given time, unless it must wait.
func (l *loop) Send(i int, at, now int64) {
	if l.Window.Holds(at) {
		l.Offered++
	}
	if l.Close {
		l.dispatchFresh(at, now)
	} else {
		l.dispatchFixed(i, at, now)
	}
}

// dispatchFixed starts the request on connection i that became due at the given time, or leaves it
// until the connection is free.
func (l *loop) dispatchFixed(i int, at, now int64) {
	c := &l.conns[i]
	free := c.next.K == c.dueCount && (c.state == idle || c.state == closed)
	c.dueCount++
	if free {
		c.next = l.schedule.After(i, c.next)
		l.RecordLateness(at, now)
		l.beginRequest(i, at, now)
	} else if l.Window.Holds(at) {
		l.Behind++
	}
}

// dispatchFresh starts a request on a new connection.
func (l *loop) dispatchFresh(at, now int64) {
	if len(l.free) == 0 {
		l.countFailure(at, now, kindLimit, "%d were under way at once: allow more connections", len(l.conns))
		return
	}
	i := int(l.free[len(l.free)-1])
	l.free = l.free[:len(l.free)-1]
	l.RecordLateness(at, now)
	l.beginRequest(i, at, now)
}

// proceed starts the next request on connection i, if it is free and a request is due.
func (l *loop) proceed(i int, now int64) {
	c := &l.conns[i]
	switch {
	case c.state != idle && c.state != closed:
	case !l.open:
		if !l.IsOver && (l.Requests == 0 || l.startedCount < l.Requests) {
			l.beginRequest(i, now, now)
		}
	case l.Close:
		l.free = append(l.free, int32(i))
	case c.next.K < c.dueCount:
		at := c.next.At
		c.next = l.schedule.After(i, c.next)
		l.beginRequest(i, at, now)
	}
}

// responseComplete handles a complete response.
func (l *loop) responseComplete(i int, now int64) {
	c := &l.conns[i]
	switch a := &c.answer; {
	case a.Status != 200:
		l.requestFailed(i, now, kindStatus, "status %d", a.Status)
	case !l.bodies.isExpected(&c.body, a.Coding):
		l.requestFailed(i, now, kindBody, "its %d bytes are not the %d expected", c.body.received, len(l.bodies.want))
	default:
		l.countSuccess(c, now)
	}
	switch {
	case c.hangup:
		l.closeConn(i)
	case c.answer.Close || l.Close:
		c.state, c.stateSince = ending, now
		return
	default:
		c.state = idle
	}
	l.proceed(i, now)
}

// countSuccess counts a complete and correct response.
func (l *loop) countSuccess(c *conn, now int64) {
	c.hasRequest = false
	l.busy--
	l.lastEndAt = now
	l.Done.Add(1)
	if l.open && l.Window.Holds(c.dueAt) {
		l.Answered++
		l.Latency.Record(now - c.dueAt)
	}
	if !l.Window.Holds(now) {
		if now < l.Window.From.Load() {
			l.WarmMessages++
		}
		return
	}
	l.Messages++
	l.Bytes += c.received
	l.bodyBytes += c.body.received
	if c.answer.Coding != response.Identity {
		l.encoded++
	}
	l.waits.Record(c.firstByteAt - c.connectedAt)
	l.processing.Record(now - c.connectedAt)
	l.totals.Record(now - c.startedAt)
}

// fail counts a failure of connection i, and of its request if there is one, and closes it.
func (l *loop) fail(i int, now int64, kind, detail string, args ...any) {
	if l.conns[i].hasRequest {
		l.requestFailed(i, now, kind, detail, args...)
	} else {
		l.Failures.Add(kind, 1, "connection %d: "+detail, append([]any{i}, args...)...)
		l.Failed.Add(1)
	}
	l.closeConn(i)
	l.freed = append(l.freed, int32(i))
}

// requestFailed counts the failure of connection i's request.
func (l *loop) requestFailed(i int, now int64, kind, detail string, args ...any) {
	c := &l.conns[i]
	c.hasRequest = false
	l.busy--
	l.countFailure(c.dueAt, now, kind, "connection %d: "+detail, append([]any{i}, args...)...)
}

// countFailure counts a request that was due at the given time as failed.
func (l *loop) countFailure(at, now int64, kind, detail string, args ...any) {
	l.lastEndAt = now
	l.Failed.Add(1)
	l.Failures.Add(kind, 1, detail, args...)
	if l.open {
		now = at
	}
	if l.Window.Holds(now) {
		l.FailedIn++
	}
}

// abandonOldest counts the oldest request of connection i that was not started as failed.
func (l *loop) abandonOldest(i int, now int64) {
	c := &l.conns[i]
	at := c.next.At
	c.next = l.schedule.After(i, c.next)
	l.countFailure(at, now, oneloop.KindTimeout, "connection %d: busy for %v since a request was due", i, l.timeout())
}
