package load

// sender sends what is due, from one locked thread. Nothing in its loop allocates.
type sender struct {
	*stream
	plan    plan
	conns   []sending
	slot    int64 // ns; the least time between two wake-ups
	woke    int64 // ns; the last wake-up
	ready   *readiness
	blocked int // connections that wait for room
	counts
}

// counts is what the sender found. The controller reads it when the sender has ended.
type counts struct {
	lateness, gaps, spread  distribution
	burst                   burst
	offered, messages, warm int64 // messages; with bits, writes
	bytes, warmBytes        int64 // of these
	writes, behind, owed    int64
	from, to                int64 // ns; the window as it was, 0 if it never began
	cpuFrom, cpuTo          int64 // ns; this process's CPU at its ends
	queueFrom, queueTo      int64 // ns; how long this thread has waited for a core, at its ends
	fails                   failures
	err                     error
}

// sending is a connection as its sender sees it.
type sending struct {
	next    moment // of the first message that is not sent whole; with bits, at is when the oldest owed write was due
	offset  int64  // bytes sent
	owed    int64  // bytes due and not sent
	last    int64  // ns; when the last message was sent, 0 before the first
	blocked bool   // waits for room
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
	w := &sender{stream: s, plan: p, conns: make([]sending, s.senders), ready: ready}
	w.lateness, w.gaps, w.spread = newDistribution(), newDistribution(), newDistribution()
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
	lockPrecise()
	defer s.ready.close()
	for !s.over() {
		at, i := s.plan.peek()
		from, end, now := s.window.from.Load(), s.window.to.Load(), s.clock.now()
		if s.from == 0 && now >= from {
			s.begin()
		}
		switch {
		case s.from != 0 && (at >= end || now > end && now-end > s.grace):
			s.finish(end)
			return
		case now < at:
			until := max(at, s.woke+s.slot)
			if s.from == 0 {
				until = min(until, from)
			}
			s.await(until)
		default:
			s.offer(i, at, now)
		}
	}
	s.finish(min(s.window.to.Load(), s.clock.now()))
}

// await sleeps until the given time, but no longer than a nap, and serves connections that have room again.
func (s *sender) await(until int64) {
	until = min(until, s.clock.now()+nap)
	if s.blocked > 0 {
		s.serveReady(until)
	} else {
		sleepUntil(until)
	}
	s.woke = s.clock.now()
}

// over says that there is nobody left to send to, or that the controller wants the end.
func (s *sender) over() bool { return s.stop.Load() || s.senders > 0 && s.alive.Load() == 0 }

// begin opens the books when the window has begun.
func (s *sender) begin() {
	s.from, s.cpuFrom, s.queueFrom = s.window.from.Load(), processCPU(), runQueueWait()
}

// finish waits for the window's end, serves what is owed until its grace is over, and closes the books.
func (s *sender) finish(end int64) {
	for now := s.clock.now(); now < end && !s.over(); now = s.clock.now() {
		s.await(end)
	}
	if s.from != 0 {
		s.cpuTo, s.queueTo, s.to = processCPU(), runQueueWait(), min(end, s.clock.now())
	}
	for limit := end + s.grace; s.blocked > 0 && s.clock.now() < limit && !s.over(); {
		s.await(limit)
	}
	for at, _ := s.plan.peek(); at < end; at, _ = s.plan.peek() {
		if bytes := s.plan.take(end); s.window.holds(at) {
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

// serveReady waits until the given time for connections that have room again, and sends what they owe.
func (s *sender) serveReady(until int64) {
	for _, i := range s.ready.wait(until) {
		if s.conns[i].blocked {
			s.flush(i, s.clock.now())
		}
	}
}
