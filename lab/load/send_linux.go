package load

import (
	"syscall"

	"weir/lab/load/internal/raw"
)

// offer makes connection i owe what its turn brings, which was due at the given time, and sends it
// if there is room.
func (s *sender) offer(i int, at, now int64) {
	bytes := s.plan.take(now)
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
	if s.bits && c.owed == 0 {
		c.next.at = at
	}
	c.owed += int64(bytes)
	if s.schedule.pattern == Together && s.burst.note(at, now, s.spread) {
		s.burst.count = in
	}
	if !c.blocked {
		s.flush(i, now)
	}
	if in && c.owed > 0 {
		s.behind++
	}
}

// flush writes what connection i owes until it owes nothing or is full. now is when the attempt
// begins.
func (s *sender) flush(i int, now int64) {
	for c := &s.conns[i]; c.owed > 0; {
		text := s.payload.at(i, c.offset, int(min(c.owed, span)))
		n, errno := raw.Write(s.fds[i], text)
		switch errno {
		case 0:
			s.account(i, int64(n), now)
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			n = 0
		default:
			s.unblock(i)
			s.owed += s.owes(i)
			s.lose(i, &s.fails, errno)
			return
		}
		if n < len(text) {
			s.block(i)
			return
		}
		if c.owed > 0 {
			now = s.clock.Now()
		}
	}
	s.unblock(i)
}

// owes is how many of the window's messages connection i owes, one that is partly sent included;
// with bits, how many messages its bytes make.
func (s *sender) owes(i int) (n int64) {
	c := &s.conns[i]
	if s.bits {
		return c.owed / int64(s.size)
	}
	for m, left := c.next, c.owed; left > 0; m, left = s.schedule.after(i, m), left-int64(s.size) {
		if s.window.Holds(m.at) {
			n++
		}
	}
	return n
}

// account notes that n bytes of connection i went out in a write that began at now. With bits,
// messages are counted by their bytes, whatever the writes.
func (s *sender) account(i int, n, now int64) {
	c := &s.conns[i]
	before := c.offset / int64(s.size)
	c.offset += n
	c.owed -= n
	if s.window.Holds(now) {
		s.writes++
	}
	whole := c.offset/int64(s.size) - before
	s.sent.Add(whole)
	if s.bits {
		s.tally(c, n, now)
		return
	}
	for range whole {
		s.tally(c, int64(s.size), now)
		c.next = s.schedule.after(i, c.next)
	}
}

// tally counts a message (with bits, a write) of n bytes that was due at c.next.at and sent at now.
func (s *sender) tally(c *sending, n, now int64) {
	late := now - c.next.at
	if late > s.worst.Load() {
		s.worst.Store(late)
	}
	if s.window.Holds(c.next.at) {
		s.lateness.Record(late)
		if c.last >= s.from {
			s.gaps.Record(now - c.last)
		}
		if now-s.grace <= s.window.To.Load() {
			s.messages++
			s.bytes += n
		} else {
			s.owed += n / int64(s.size)
		}
	} else if c.next.at < s.window.From.Load() {
		s.warm++
		s.warmBytes += n
	}
	c.last = now
}

// block and unblock keep count of the connections that wait for room.
func (s *sender) block(i int) {
	if s.conns[i].blocked {
		return
	}
	s.conns[i].blocked = true
	s.blocked++
	if err := s.ready.watch(s.fds[i], i); err != nil {
		s.err = err
		s.stop.Store(true)
	}
}

func (s *sender) unblock(i int) {
	if s.conns[i].blocked {
		s.conns[i].blocked = false
		s.blocked--
		s.ready.ignore(s.fds[i])
	}
}
