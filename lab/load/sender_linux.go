package load

import (
	"runtime"

	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

// sender sends what is due, from one locked thread. Nothing in its loop allocates.
type sender struct {
	*stream
	plan    plan
	conns   []sending
	slot    int64 // ns; the least time between two wake-ups
	woke    int64 // ns; when the last sleep was to end
	alarm   *raw.Alarm
	ready   *readiness
	blocked int // connections that wait for room
	counts
}

// counts is what the sender found. The controller reads it when the sender has ended.
type counts struct {
	lateness, gaps, spread  tally.Distribution
	burst                   burst
	offered, messages, warm int64 // messages; with bits, writes
	bytes, warmBytes        int64 // of these
	writes, behind, owed    int64
	from, to                int64 // ns; the window as it was, 0 if it never began
	cpuFrom, cpuTo          int64 // ns; this process's CPU at its ends
	queueFrom, queueTo      int64 // ns; how long this thread has waited for a core, at its ends
	fails                   tally.Failures
	err                     error
}

// sending is a connection as its sender sees it.
type sending struct {
	// of the first message that is not sent whole; with bits, at is when the oldest owed write was
	// due
	next    moment
	offset  int64 // bytes sent
	owed    int64 // bytes due and not sent
	last    int64 // ns; when the last message was sent, 0 before the first
	blocked bool  // waits for room
}

const (
	busyRate = 20_000            // messages a second; from here on one wake-up serves several
	busySlot = int64(200_000)    // ns between wake-ups then
	nap      = int64(50_000_000) // ns; the longest sleep, so that stop is seen
)

// newSender prepares to send plan p, rate messages a second in all.
func newSender(s *stream, p plan, rate float64) (*sender, error) {
	ready, err := newReadiness()
	if err != nil {
		return nil, err
	}
	alarm, err := raw.NewAlarm()
	if err != nil {
		ready.close()
		return nil, err
	}
	w := &sender{stream: s, plan: p, conns: make([]sending, s.senders), alarm: alarm, ready: ready}
	w.lateness, w.gaps, w.spread = tally.NewDistribution(), tally.NewDistribution(), tally.NewDistribution()
	if rate >= busyRate {
		w.slot = busySlot
	}
	if !s.bits {
		for i := range w.conns {
			w.conns[i].next = s.schedule.first(i)
		}
	}
	return w, nil
}

// run sends until the window has ended, stop is set or every connection is lost.
func (s *sender) run() {
	runtime.LockOSThread()
	defer s.ready.close()
	defer s.alarm.Close()
	for !s.over() {
		at, i := s.plan.peek()
		from, end, now := s.window.From.Load(), s.window.To.Load(), s.clock.Now()
		if s.from == 0 && now >= from {
			s.begin()
		}
		switch {
		case s.from != 0 && (at >= end || now > end && now-end > s.grace):
			s.finish(end)
			return
		case now < at:
			until, then := s.wake(at)
			if s.from == 0 && from < until {
				until, then = from, until
			}
			s.await(now, until, then)
		default:
			s.offer(i, at, now)
		}
	}
	s.finish(min(s.window.To.Load(), s.clock.Now()))
}

// wake is when to wake for a message that is due at the given time, and when again after that, 0 if
// that is not known.
func (s *sender) wake(at int64) (until, then int64) {
	if s.slot == 0 {
		return at, s.plan.then()
	}
	until = max(at, s.woke+s.slot)
	return until, until + s.slot
}

// await sleeps until the given time, but no longer than a nap from now, and serves connections that
// have room again. See raw.Alarm for then.
func (s *sender) await(now, until, then int64) {
	if until > now+nap {
		until, then = now+nap, 0
	}
	switch {
	case s.blocked > 0:
		s.serveReady(until)
		s.woke = s.clock.Now()
	case s.alarm.Sleep(until, then):
		s.woke = until
	}
}

// over says that there is nobody left to send to, or that the controller wants the end.
func (s *sender) over() bool { return s.stop.Load() || s.senders > 0 && s.alive.Load() == 0 }

// begin opens the books when the window has begun.
func (s *sender) begin() {
	s.from, s.cpuFrom, s.queueFrom = s.window.From.Load(), raw.ProcessCPU(), raw.RunQueueWait()
}

// finish waits for the window's end, serves what is owed until its grace is over, and closes the
// books.
func (s *sender) finish(end int64) {
	for now := s.clock.Now(); now < end && !s.over(); now = s.clock.Now() {
		s.await(now, end, 0)
	}
	if s.from != 0 {
		s.cpuTo, s.queueTo, s.to = raw.ProcessCPU(), raw.RunQueueWait(), min(end, s.clock.Now())
	}
	limit := end + s.grace
	for now := s.clock.Now(); s.blocked > 0 && now < limit && !s.over(); now = s.clock.Now() {
		s.await(now, limit, 0)
	}
	for at, _ := s.plan.peek(); at < end; at, _ = s.plan.peek() {
		if bytes := s.plan.take(end); s.window.Holds(at) {
			s.offered++
			s.owed += int64(bytes / s.size)
		}
	}
	for i := range s.conns {
		if !s.lost[i].Load() {
			s.owed += s.owes(i)
		}
		s.totals[i].Store(s.conns[i].offset)
	}
}

// serveReady waits until the given time for connections that have room again, and sends what they
// owe.
func (s *sender) serveReady(until int64) {
	for _, i := range s.ready.wait(until) {
		if s.conns[i].blocked {
			s.flush(i, s.clock.Now())
		}
	}
}
