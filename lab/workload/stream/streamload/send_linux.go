package streamload

import (
	"syscall"

	"weir/lab/internal/raw"
	"weir/lab/load"
)

// addDue adds to connection i the bytes that are due at the given time, and sends them if the
// connection is writable.
func (s *sender) addDue(i int, at, now int64) {
	bytes := s.order.take(now)
	c, in := &s.conns[i], s.window.Holds(at)
	if in {
		s.offered++
	}
	if s.lost[i].Load() {
		if in {
			s.owed += int64(bytes / s.size)
		}
		return
	}
	if s.bits && c.owedBytes == 0 {
		c.next.At = at
	}
	c.owedBytes += int64(bytes)
	if s.schedule.Pattern == load.Together && s.burst.add(at, now, s.spread) {
		s.burst.inWindow = in
	}
	if !c.blocked {
		s.flush(i, now)
	}
	if in && c.owedBytes > 0 {
		s.behind++
	}
}

// flush writes the backlog of connection i until it is empty or the connection is full. now is when
// the attempt started.
func (s *sender) flush(i int, now int64) {
	for c := &s.conns[i]; c.owedBytes > 0; {
		text := s.payload.at(i, c.sentBytes, int(min(c.owedBytes, span)))
		n, errno := raw.Write(s.fds[i], text)
		switch errno {
		case 0:
			s.countSent(i, int64(n), now)
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			n = 0
		default:
			s.unblock(i)
			s.owed += s.owedMessages(i)
			s.lose(i, &s.failures, errno)
			return
		}
		if n < len(text) {
			s.block(i)
			return
		}
		if c.owedBytes > 0 {
			now = s.clock.Now()
		}
	}
	s.unblock(i)
}

// owedMessages returns how many of the window's messages are in connection i's backlog, including a
// partly sent one; with bits, the number of messages of that many bytes.
func (s *sender) owedMessages(i int) (n int64) {
	c := &s.conns[i]
	if s.bits {
		return c.owedBytes / int64(s.size)
	}
	for m, left := c.next, c.owedBytes; left > 0; m, left = s.schedule.After(i, m), left-int64(s.size) {
		if s.window.Holds(m.At) {
			n++
		}
	}
	return n
}

// countSent records that n bytes of connection i were sent in a write that started at now. With
// bits, messages are counted by their bytes, regardless of writes.
func (s *sender) countSent(i int, n, now int64) {
	c := &s.conns[i]
	before := c.sentBytes / int64(s.size)
	c.sentBytes += n
	c.owedBytes -= n
	if s.window.Holds(now) {
		s.writes++
	}
	whole := c.sentBytes/int64(s.size) - before
	s.sent.Add(whole)
	if s.bits {
		s.countMessage(c, n, now)
		return
	}
	for range whole {
		s.countMessage(c, int64(s.size), now)
		c.next = s.schedule.After(i, c.next)
	}
}

// countMessage records a message (with bits, a write) of n bytes that was due at c.next.At and sent
// at now.
func (s *sender) countMessage(c *sending, n, now int64) {
	late := now - c.next.At
	if late > s.maxLateness.Load() {
		s.maxLateness.Store(late)
	}
	if s.window.Holds(c.next.At) {
		s.lateness.Record(late)
		if c.lastSentAt >= s.windowFrom {
			s.gaps.Record(now - c.lastSentAt)
		}
		if now-s.grace <= s.window.To.Load() {
			s.messages++
			s.bytes += n
		} else {
			s.owed += n / int64(s.size)
		}
	} else if c.next.At < s.window.From.Load() {
		s.warmMessages++
		s.warmBytes += n
	}
	c.lastSentAt = now
}

// block and unblock count the connections that wait to become writable.
func (s *sender) block(i int) {
	if s.conns[i].blocked {
		return
	}
	s.conns[i].blocked = true
	s.blockedConns++
	if err := s.ready.watch(s.fds[i], i); err != nil {
		s.err = err
		s.stop.Store(true)
	}
}

func (s *sender) unblock(i int) {
	if s.conns[i].blocked {
		s.conns[i].blocked = false
		s.blockedConns--
		s.ready.ignore(s.fds[i])
	}
}
