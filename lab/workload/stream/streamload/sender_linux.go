package streamload

import (
	"runtime"

	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
)

// sender sends messages when they are due, from one locked thread. Its loop does not allocate.
type sender struct {
	*stream
	order        sendOrder
	conns        []sending
	minSleep     int64 // ns; the minimum time between two wake-ups
	plannedWake  int64 // ns; the planned end of the last sleep
	alarm        *raw.Alarm
	ready        *readiness
	blockedConns int // connections that wait to become writable
	counts
}

// counts are the sender's results. The controller reads them after the sender has ended.
type counts struct {
	lateness, gaps, spread          tally.Distribution
	burst                           burst
	offered, messages, warmMessages int64 // messages; with bits, writes
	bytes, warmBytes                int64 // in these messages
	writes, behind, owed            int64
	windowFrom, windowTo            int64 // ns; the actual window, 0 if it never started
	cpuFrom, cpuTo                  int64 // ns; this process's CPU at the window's ends
	// ns; how long this thread has waited for a core, at the window's ends
	queueFrom, queueTo int64
	failures           tally.Failures
	err                error
}

// sending is the sender's state of a connection.
type sending struct {
	// of the first message that is not sent whole; with bits, at is when the oldest owed write was
	// due
	next       schedule.Moment
	sentBytes  int64 // bytes sent
	owedBytes  int64 // bytes due and not yet sent
	lastSentAt int64 // ns; when the last message was sent, 0 before the first
	blocked    bool  // waits to become writable
}

const (
	// messages a second; from this rate on one wake-up sends several
	busyRate     = 20_000
	busyMinSleep = int64(200_000)    // ns between wake-ups from that rate on
	maxSleep     = int64(50_000_000) // ns; the longest sleep, so that stop is noticed
)

// newSender prepares to send in the given order, at rate messages a second in total.
func newSender(s *stream, p sendOrder, rate float64) (*sender, error) {
	ready, err := newReadiness()
	if err != nil {
		return nil, err
	}
	alarm, err := raw.NewAlarm()
	if err != nil {
		ready.close()
		return nil, err
	}
	w := &sender{stream: s, order: p, conns: make([]sending, s.senders), alarm: alarm, ready: ready}
	w.lateness, w.gaps, w.spread = tally.NewDistribution(), tally.NewDistribution(), tally.NewDistribution()
	if rate >= busyRate {
		w.minSleep = busyMinSleep
	}
	if !s.bits {
		for i := range w.conns {
			w.conns[i].next = s.schedule.First(i)
		}
	}
	return w, nil
}

// run sends until the window has ended, stop is set or every connection is lost.
func (s *sender) run() {
	runtime.LockOSThread()
	defer s.ready.close()
	defer s.alarm.Close()
	for !s.done() {
		at, i := s.order.Peek()
		from, end, now := s.window.From.Load(), s.window.To.Load(), s.clock.Now()
		if s.windowFrom == 0 && now >= from {
			s.startCounts()
		}
		switch {
		case s.windowFrom != 0 && (at >= end || now > end && now-end > s.grace):
			s.finish(end)
			return
		case now < at:
			until, then := s.wakeTimes(at)
			if s.windowFrom == 0 && from < until {
				until, then = from, until
			}
			s.sleep(now, until, then)
		default:
			s.addDue(i, at, now)
		}
	}
	s.finish(min(s.window.To.Load(), s.clock.Now()))
}

// wakeTimes returns when to wake for a message that is due at the given time, and when again after
// that; 0 if unknown.
func (s *sender) wakeTimes(at int64) (until, then int64) {
	if s.minSleep == 0 {
		return at, s.order.Then()
	}
	until = max(at, s.plannedWake+s.minSleep)
	return until, until + s.minSleep
}

// sleep sleeps until the given time, at most maxSleep from now, and sends on connections that
// become writable. For then see raw.Alarm.
func (s *sender) sleep(now, until, then int64) {
	if until > now+maxSleep {
		until, then = now+maxSleep, 0
	}
	switch {
	case s.blockedConns > 0:
		s.serveReady(until)
		s.plannedWake = s.clock.Now()
	case s.alarm.Sleep(until, then):
		s.plannedWake = until
	}
}

// done reports whether every connection is lost or the controller has requested a stop.
func (s *sender) done() bool { return s.stop.Load() || s.senders > 0 && s.aliveSenders.Load() == 0 }

// startCounts records the start of the window.
func (s *sender) startCounts() {
	s.windowFrom, s.cpuFrom, s.queueFrom = s.window.From.Load(), raw.ProcessCPU(), raw.RunQueueWait()
}

// finish waits for the end of the window, sends the backlog until the grace time is over, and
// completes the counts.
func (s *sender) finish(end int64) {
	for now := s.clock.Now(); now < end && !s.done(); now = s.clock.Now() {
		s.sleep(now, end, 0)
	}
	if s.windowFrom != 0 {
		s.cpuTo, s.queueTo, s.windowTo = raw.ProcessCPU(), raw.RunQueueWait(), min(end, s.clock.Now())
	}
	limit := end + s.grace
	for now := s.clock.Now(); s.blockedConns > 0 && now < limit && !s.done(); now = s.clock.Now() {
		s.sleep(now, limit, 0)
	}
	for at, _ := s.order.Peek(); at < end; at, _ = s.order.Peek() {
		if bytes := s.order.take(end); s.window.Holds(at) {
			s.offered++
			s.owed += int64(bytes / s.size)
		}
	}
	for i := range s.conns {
		if !s.lost[i].Load() {
			s.owed += s.owedMessages(i)
		}
		s.sentTotals[i].Store(s.conns[i].sentBytes)
	}
}

// serveReady waits until the given time for connections to become writable, and sends their
// backlog.
func (s *sender) serveReady(until int64) {
	for _, i := range s.ready.wait(until) {
		if s.conns[i].blocked {
			s.flush(i, s.clock.Now())
		}
	}
}
