package httpload

import (
	"fmt"

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
		l.dispatchFixed(l.carriers+i, at, now)
	}
}

// dispatchFixed starts the request on connection i that became due at the given time, or leaves it
// until the connection is free.
func (l *loop) dispatchFixed(i int, at, now int64) {
	c := &l.conns[i]
	free := c.next.K == c.dueCount && (c.state == idle || c.state == closed)
	c.dueCount++
	if free {
		r := l.takeNext(i)
		l.RecordLateness(at, now)
		l.beginRequest(i, r, at, now)
	} else if l.Window.Holds(at) {
		l.Behind++
	}
}

// takeNext returns the next request of connection i, and goes on to the one after it.
func (l *loop) takeNext(i int) *prepared {
	c := &l.conns[i]
	r := l.mixer.choose(i-l.carriers, c.next.K)
	c.next = l.schedule.After(i-l.carriers, c.next)
	return r
}

// dispatchFresh starts a request on a new connection.
func (l *loop) dispatchFresh(at, now int64) {
	r := l.mixer.choose(0, l.freshCount)
	l.freshCount++
	if len(l.free) == 0 {
		l.countFailure(r, at, now, kindLimit, "%d were under way at once: allow more connections", len(l.conns))
		return
	}
	i := int(l.free[len(l.free)-1])
	l.free = l.free[:len(l.free)-1]
	l.RecordLateness(at, now)
	l.beginRequest(i, r, at, now)
}

// proceed starts the next request on connection i, if it is free and a request is due.
func (l *loop) proceed(i int, now int64) {
	c := &l.conns[i]
	switch {
	case c.state != idle && c.state != closed:
	case !l.open:
		if !l.IsOver && (l.Requests == 0 || l.startedCount < l.Requests) {
			l.beginRequest(i, l.mixer.choose(0, uint64(l.startedCount)), now, now)
		}
	case l.Close:
		l.free = append(l.free, int32(i))
	case c.next.K < c.dueCount:
		at := c.next.At
		r := l.takeNext(i)
		l.beginRequest(i, r, at, now)
	}
}

// responseComplete handles a complete response.
func (l *loop) responseComplete(i int, now int64) {
	c := &l.conns[i]
	if kind, detail := c.judge(); kind != "" {
		l.requestFailed(i, now, kind, "%s", detail)
	} else {
		l.countSuccess(c, now)
	}
	switch {
	case c.hangup || !c.sent():
		l.closeConn(i)
	case c.answer.Close || l.Close:
		c.state, c.stateSince = ending, now
		return
	default:
		c.state = idle
	}
	l.proceed(i, now)
}

// judge returns the kind of error of a complete response and its detail; "" if it is correct.
func (c *conn) judge() (kind, detail string) {
	r, a := c.request, &c.answer
	switch {
	case !r.isExpectedStatus(a.Status):
		return kindStatus, fmt.Sprintf("status %d", a.Status)
	case r.GRPC:
		if kind, detail := r.judgeCall(&c.call, c.trailer); kind != "" {
			return kind, detail
		}
	}
	switch {
	case r.exact == nil:
		return r.parts.judge(&c.body, a.Coding)
	case !r.exact.isExpected(&c.body, a.Coding):
		return kindBody, fmt.Sprintf("its %d bytes are not the %d expected", c.body.received, len(r.exact.want))
	}
	return "", ""
}

// sent reports whether the whole request was sent. A server may answer before it has read it.
func (c *conn) sent() bool {
	return c.written == len(c.request.wire) && (c.tls == nil || len(c.tls.Unsent) == 0)
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
		c.request.report.answered(now - c.dueAt)
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
	if !l.open {
		c.request.report.answered(now - c.startedAt)
	}
}

// fail counts a failure of connection i, and of its request if there is one, and closes it.
func (l *loop) fail(i int, now int64, kind, detail string, args ...any) {
	if i < l.carriers {
		l.sessionFailed(i, now, kind, fmt.Sprintf(detail, args...))
		return
	}
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
	l.countFailure(c.request, c.dueAt, now, kind, "connection %d: %s"+detail, append([]any{i, c.request.label}, args...)...)
}

// countFailure counts the request r that was due at the given time as failed.
func (l *loop) countFailure(r *prepared, at, now int64, kind, detail string, args ...any) {
	l.lastEndAt = now
	l.Failed.Add(1)
	l.Failures.Add(kind, 1, detail, args...)
	if l.open {
		now = at
	}
	if l.Window.Holds(now) {
		l.FailedIn++
		r.report.Failed++
	}
}

// abandonOldest counts the oldest request of connection i that was not started as failed.
func (l *loop) abandonOldest(i int, now int64) {
	c := &l.conns[i]
	at := c.next.At
	l.countFailure(l.takeNext(i), at, now, oneloop.KindTimeout, "connection %d: busy for %v since a request was due", i, l.timeout())
}
