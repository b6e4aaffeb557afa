package streamload

import (
	"syscall"

	"weir/lab/internal/raw"
	"weir/lab/load"
)

// Send adds to connection i the bytes that are due at the given time, and sends them if the
// connection is writable.
func (l *loop) Send(i int, at, now int64) {
	if l.IsOver {
		now = l.Clock.Now()
	}
	bytes := l.Size
	if l.bits != nil {
		bytes = l.bits.take(min(now, l.Window.To.Load()))
	}
	c, in := &l.conns[i], l.Window.Holds(at)
	if in {
		l.Offered++
	}
	if c.lost || l.IsOver && l.givenUp(now) {
		if in {
			l.owed += int64(bytes / l.Size)
		}
		return
	}
	if l.Bits > 0 && c.owedBytes == 0 {
		c.next.At = at
	}
	c.owedBytes += int64(bytes)
	if l.schedule.Pattern == load.Together && l.burst.add(at, now, l.spread) {
		l.burst.inWindow = in
	}
	if !c.blocked {
		l.flush(i, now)
	}
	if in && c.owedBytes > 0 {
		l.Behind++
	}
}

// flush writes the backlog of connection i until it is empty or the connection is full. now is when
// the attempt started.
func (l *loop) flush(i int, now int64) {
	for c := &l.conns[i]; c.owedBytes > 0; {
		text := l.payload.at(i, c.sentBytes, int(min(c.owedBytes, span)))
		n, errno := raw.Send(c.fd, text)
		switch errno {
		case 0:
			l.countSent(i, int64(n), now)
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			n = 0
		default:
			l.lose(i, errno)
			return
		}
		if n < len(text) {
			l.setBlocked(c, true)
			return
		}
		if c.owedBytes > 0 {
			now = l.Clock.Now()
		}
	}
	l.setBlocked(&l.conns[i], false)
}

// setBlocked sets whether c waits to become writable.
func (l *loop) setBlocked(c *conn, blocked bool) {
	if c.blocked != blocked {
		c.blocked = blocked
		l.blockedConns += map[bool]int{true: 1, false: -1}[blocked]
	}
}

// owedMessages returns how many of the window's messages are in connection i's backlog, including a
// partly sent one; with bits, the number of messages of that many bytes.
func (l *loop) owedMessages(i int) (n int64) {
	c := &l.conns[i]
	if l.Bits > 0 {
		return c.owedBytes / int64(l.Size)
	}
	for m, left := c.next, c.owedBytes; left > 0; m, left = l.schedule.After(i, m), left-int64(l.Size) {
		if l.Window.Holds(m.At) {
			n++
		}
	}
	return n
}

// countSent records that n bytes of connection i were sent in a write that started at now. With
// bits, messages are counted by their bytes, regardless of writes.
func (l *loop) countSent(i int, n, now int64) {
	c := &l.conns[i]
	before := c.sentBytes / int64(l.Size)
	c.sentBytes += n
	c.owedBytes -= n
	if l.Window.Holds(now) {
		l.writes++
	}
	whole := c.sentBytes/int64(l.Size) - before
	l.Done.Add(whole)
	if l.Bits > 0 {
		l.countMessage(c, n, now)
		return
	}
	for range whole {
		l.countMessage(c, int64(l.Size), now)
		c.next = l.schedule.After(i, c.next)
	}
}

// countMessage records a message (with bits, a write) of n bytes that was due at c.next.At and sent
// at now.
func (l *loop) countMessage(c *conn, n, now int64) {
	l.RecordLateness(c.next.At, now)
	if l.Window.Holds(c.next.At) {
		if c.lastSentAt >= l.From {
			l.gaps.Record(now - c.lastSentAt)
		}
		if now-l.grace() <= l.Window.To.Load() {
			l.Messages++
			l.Bytes += n
		} else {
			l.owed += n / int64(l.Size)
		}
	} else if c.next.At < l.Window.From.Load() {
		l.WarmMessages++
		l.warmBytes += n
	}
	c.lastSentAt = now
}
