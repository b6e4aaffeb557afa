package oneloop

import (
	"context"
	"os"
	"runtime"
	"time"

	"weir/lab/internal/tally"
)

const (
	// connections that are being opened, or joining, at once before the load. InspIRCd accepts
	// waiting clients once a second: with a smaller number a thousand would take it a minute.
	maxConnecting = 64
	maxDispatch   = 64 // messages sent before events are handled again
)

// Loop is a load. All its methods are called from one locked thread: Connect for each connection;
// Prepare; Begun; Send, Work and Handle until the window is over; Finish; then Work and Handle
// while Waiting; Leave. It embeds State, which has those that many loads do not need.
type Loop interface {
	Connect(i int)  // starts to open connection i; ready, it is counted in State.ReadyOnes
	Late() error    // returns why connections are not ready in time
	Prepare() error // what comes between the connections and the load
	Begun()         // State.Start is set; a load with a schedule sets State.Order
	// sends the message of connection i that was due at the given time, according to State.Order
	Send(i int, at, now int64)
	// does what needs no event and has no due time, and reports whether there is more of it
	Work(now int64) bool
	Handle(i int, events uint32)    // handles events of connection i
	Check(now int64) (next int64)   // handles timeouts; returns when to check again
	Complete(now int64) (end int64) // when the load ended before its window; tally.Unset: not yet
	Finish(end int64)               // the window is over, and what was due in it has been sent
	Waiting(now int64) bool         // reports whether answers are awaited after the window
	Leave()                         // the thread ends; connections stay open
}

// Prepare implements Loop.
func (*State) Prepare() error { return nil }

// Begun implements Loop.
func (*State) Begun() {}

// Send implements Loop.
func (*State) Send(int, int64, int64) {}

// Work implements Loop: it reports whether there is more, which is never so.
func (*State) Work(int64) bool { return false }

// Complete implements Loop.
func (*State) Complete(int64) int64 { return tally.Unset }

// Finish implements Loop.
func (*State) Finish(int64) {}

// Leave implements Loop.
func (*State) Leave() {}

// run runs l with the given number of connections: it connects, offers the load until the window
// is over, and waits for the last answers.
func (s *State) run(l Loop, connections int, window time.Duration) {
	defer close(s.Ended)
	runtime.LockOSThread()
	defer l.Leave()
	if s.Err = s.connectAll(l, connections); s.Err != nil {
		return
	}
	now := s.Clock.Now()
	s.Connected.Store(now)
	s.Begin(now+s.Delay, window)
	l.Begun()
	close(s.Ready)
	for start := s.Start.Load(); !s.Stop.Load() && s.Clock.Now() < start; {
		s.Turn(l, start)
	}
	end := s.Shut(s.offer(l))
	for at, _ := s.due(); at < end; at, _ = s.due() { // every message that was due is sent
		s.dispatch(l, end)
	}
	l.Finish(end)
	close(s.Over)
	for !s.Stop.Load() && l.Waiting(s.Clock.Now()) {
		until := s.nextCheck
		if l.Work(s.Clock.Now()) {
			until = 0
		}
		s.Turn(l, until)
	}
}

// connectAll opens the connections before the load, some at a time.
func (s *State) connectAll(l Loop, n int) error {
	progress, made := s.Clock.Now(), 0
	for begun := 0; s.ReadyOnes < n; {
		for ; begun < n && begun-s.ReadyOnes < maxConnecting && s.Err == nil; begun++ {
			l.Connect(begun)
		}
		s.Turn(l, s.Clock.Now()+Nap)
		now := s.Clock.Now()
		if s.ReadyOnes > made {
			progress, made = now, s.ReadyOnes
		}
		switch {
		case s.Stop.Load():
			return context.Canceled
		case s.Err != nil:
			return s.Err
		case now-progress > int64(s.ConnectLimit):
			return l.Late()
		}
	}
	return l.Prepare()
}

// Late implements Loop.
func (s *State) Late() error { return s.Server.Error(os.ErrDeadlineExceeded) }

// offer offers l until the window is over or the run is ended early. It returns when it ended.
func (s *State) offer(l Loop) (end int64) {
	for !s.Stop.Load() && s.Err == nil {
		now := s.Clock.Now()
		s.Open(now)
		if end := min(l.Complete(now), s.Window.To.Load()); now >= end {
			return end
		}
		s.dispatch(l, now)
		at, _ := s.wake()
		if until := s.Until(at); l.Work(now) {
			s.Turn(l, now)
		} else {
			s.Turn(l, until)
		}
	}
	return s.Clock.Now()
}

// due returns when the next message is due, and of which connection it is; tally.Unset if there is
// none.
func (s *State) due() (at int64, i int) {
	if s.Order == nil {
		return tally.Unset, 0
	}
	return s.Order.Peek()
}

// wake returns when to wake for the next message, and probably for the one after it.
func (s *State) wake() (at, then int64) {
	if at, _ = s.due(); at == tally.Unset || s.MinSleep == 0 {
		if s.Order != nil {
			then = s.Order.Then()
		}
		return at, then
	}
	at = max(at, s.lastDispatch+s.MinSleep)
	return at, at + s.MinSleep
}

// dispatch sends the messages that are due at now or become due meanwhile, at most maxDispatch and
// none after the window.
func (s *State) dispatch(l Loop, now int64) {
	s.lastDispatch = now
	end := s.Window.To.Load()
	for range maxDispatch {
		at, i := s.due()
		if at > now || at >= end {
			return
		}
		s.Order.Advance()
		l.Send(i, at, now)
		now = max(now, s.Clock.Now())
	}
}

// Turn waits for events, at most until the given time or the next check of timeouts, and handles
// them. A message that becomes due meanwhile is sent.
func (s *State) Turn(l Loop, until int64) {
	if now := s.Clock.Now(); until > now+Nap { // otherwise there is a turn soon anyway
		until = min(until, max(s.nextCheck, now))
	}
	at, then := s.wake()
	if at != until {
		then = 0
	}
	s.Poll.Wait(s.Clock, until, then, func(i int, events uint32) {
		l.Handle(i, events)
		if at, _ := s.wake(); !s.IsOver {
			if now := s.Clock.Now(); now >= at {
				s.dispatch(l, now)
			}
		}
	})
	if now := s.Clock.Now(); now >= s.nextCheck {
		s.nextCheck = l.Check(now)
	}
}
