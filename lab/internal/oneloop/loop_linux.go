package oneloop

import (
	"context"
	"os"
	"runtime"
	"time"

	"weir/lab/internal/tally"
)

// maxConnecting is the number of connections that are being opened, or joining, at once before the
// load. InspIRCd accepts waiting clients once a second: with a smaller number a thousand would take
// it a minute.
const maxConnecting = 64

// Loop is a load. All its methods are called from one locked thread: Connect for each connection;
// Prepare; Start; then Offer and Handle until the window is over; Finish; then Offer and Handle while
// Waiting. It embeds State, which has those that many loads do not need.
type Loop interface {
	Connect(i int)  // starts to open connection i; ready, it is counted in State.ReadyOnes
	Late() error    // returns why connections are not ready in time
	Prepare() error // what comes between the connections and the load
	Begun()         // State.Start is set
	// returns when the next message is due, and when the one after it is; tally.Unset: not known
	Due() (at, then int64)
	// starts what is due at now; after the window only what was due in it. It reports whether more
	// can be started without waiting for an event.
	Offer(now int64) (more bool)
	Handle(i int, events uint32)    // handles events of connection i
	Check(now int64) (next int64)   // handles timeouts; returns when to check again
	Complete(now int64) (end int64) // returns when the load ended before its window; tally.Unset: it goes on
	Finish(end int64)               // the window is over
	Leave()                         // the thread ends; connections stay open
	Waiting(now int64) bool         // reports whether answers are awaited after the window
}

// Prepare implements Loop.
func (*State) Prepare() error { return nil }

// Begun implements Loop.
func (*State) Begun() {}

// Due implements Loop.
func (*State) Due() (at, then int64) { return tally.Unset, tally.Unset }

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
	l.Finish(s.Shut(s.offer(l)))
	close(s.Over)
	for !s.Stop.Load() && l.Waiting(s.Clock.Now()) {
		until := s.nextCheck
		if l.Offer(s.Clock.Now()) {
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
		more := l.Offer(now)
		at, _ := l.Due()
		if until := s.Until(at); !more {
			s.Turn(l, until)
		} else {
			s.Turn(l, now)
		}
	}
	return s.Clock.Now()
}

// Turn waits for events, at most until the given time or the next check of timeouts, and handles
// them. A message that becomes due meanwhile is sent.
func (s *State) Turn(l Loop, until int64) {
	if now := s.Clock.Now(); until > now+Nap { // otherwise there is a turn soon anyway
		until = min(until, max(s.nextCheck, now))
	}
	then := int64(0)
	if at, next := l.Due(); at == until && next != tally.Unset {
		then = next
	}
	s.Poll.Wait(s.Clock, until, then, func(i int, events uint32) {
		l.Handle(i, events)
		if at, _ := l.Due(); !s.IsOver && at != tally.Unset {
			if now := s.Clock.Now(); now >= at {
				l.Offer(now)
			}
		}
	})
	if now := s.Clock.Now(); now >= s.nextCheck {
		s.nextCheck = l.Check(now)
	}
}
