package serve

import (
	"syscall"
	"time"
)

// looped drives a session that its loop calls directly.
type looped struct {
	*conn
	session Session
	noInput bool  // the peer has finished, and the session goes on
	held    bool  // no Input until woken
	cut     bool  // a stop has ended this hold, or the one before, ahead of its time
	ending  error // why to close once the output is gone; nil: it goes on
	last    int64 // with ending: when to close in any case, in loop time
}

func startSession(c *conn, open func(Conn) Session) {
	s := &looped{conn: c}
	c.driver = s
	err := s.contained(func() { s.session = open(c) })
	switch {
	case s.session != nil && err == nil:
	case s.out.waiting.Load(): // it was told why
		s.finishLater(ErrClosed)
	default:
		s.end(ErrClosed)
	}
}

func (s *looped) ready() {
	if s.queued {
		return
	}
	for range readsPerTurn {
		if s.held && !s.cut && s.ending == nil && s.l.deadline != 0 {
			s.cut = true
			s.callWake(time.Now())
		}
		if s.ended || s.held || s.ending != nil || s.out.waiting.Load() {
			s.notice()
			return
		}
		if !s.readable || s.noInput {
			if s.l.deadline != 0 {
				s.end(ErrStopped)
			} else if s.noInput {
				s.notice()
			}
			return
		}
		n, err := s.read(s.l.buf)
		if err == syscall.EAGAIN {
			continue
		}
		if err == nil {
			s.cut = false
			err = s.input(s.l.buf[:n])
		} else if half := halfCloser(s.session, err); half != nil {
			s.noInput = true
			err = s.inputEnd(half)
		}
		s.settle(err)
		if s.ended {
			return
		}
	}
	s.l.later(s.conn)
}

// notice ends a session that does not read when its connection has broken.
func (s *looped) notice() {
	if s.broken && !s.ended {
		s.end(s.failure())
	}
}

// settle does what the session asked of its writer, and ends it if err is not nil.
func (s *looped) settle(err error) {
	w := &s.l.out
	s.held = s.held || w.hold
	if !w.at.IsZero() {
		s.setTimer(w.at)
	}
	if len(w.buf) > 0 && !s.out.put(w.buf, s, -1) && err == nil {
		err = ErrClosed
	}
	w.reset()
	if err == nil {
		return
	}
	if !s.out.waiting.Load() {
		s.end(err)
		return
	}
	s.finishLater(err)
}

// finishLater ends the session once its output has gone, within bounds.
func (s *looped) finishLater(err error) {
	s.ending, s.last = err, s.l.now()+int64(s.l.o.flushBound(s.out.length()))
	s.linger()
}

// linger gives the peer its time to take what waits, from now on.
func (s *looped) linger() {
	s.l.timers.set(&s.timer, min(s.l.now()+int64(s.l.o.Linger), s.last))
}

func (s *looped) writable() {
	if !s.out.waiting.Load() {
		return
	}
	gone, err := s.out.flush(s)
	switch {
	case err != nil:
		s.over = true
		s.end(err)
	case gone && s.ending != nil:
		s.end(s.ending)
	case s.ending != nil: // it has taken some
		s.linger()
	case gone:
		s.ready()
	}
}

func (s *looped) due(now time.Time) {
	if s.ending != nil {
		s.end(s.ending)
		return
	}
	s.woken(now)
}

func (s *looped) woken(now time.Time) {
	if s.ending != nil {
		return
	}
	s.callWake(now)
	if !s.ended {
		s.ready()
	}
}

func (s *looped) callWake(now time.Time) {
	s.setTimer(time.Time{})
	s.held = false
	s.l.lane.wakes.add(1)
	s.settle(s.wake(now))
}

func (s *looped) input(in []byte) (err error) {
	defer s.recover(&err)
	s.l.calling = s
	err = s.session.Input(in, &s.l.out)
	s.l.calling = nil
	return err
}

func (s *looped) inputEnd(half HalfCloser) (err error) {
	defer s.recover(&err)
	s.l.calling = s
	err = half.InputEnd(&s.l.out)
	s.l.calling = nil
	return err
}

func (s *looped) wake(now time.Time) (err error) {
	defer s.recover(&err)
	s.l.calling = s
	err = s.session.Wake(now, &s.l.out)
	s.l.calling = nil
	return err
}

// contained calls f, which calls the session.
func (s *looped) contained(f func()) (err error) {
	defer s.recover(&err)
	s.l.calling = s
	f()
	s.l.calling = nil
	return nil
}

// recover turns a panic of the session into the end of its connection. What it was writing is
// dropped. After a Goexit, which this goroutine does not survive, the loop's next goroutine does
// that.
func (s *looped) recover(err *error) {
	v := recover()
	if v == nil && s.l.calling == nil {
		return
	}
	s.l.out.reset()
	if v != nil {
		s.l.calling = nil
		*err = panicked(s.l.o, s.l.lane, s.remote, v)
		return
	}
	s.ending = panicked(s.l.o, s.l.lane, s.remote, ErrGoexit)
}

func (s *looped) end(err error) {
	if s.ended {
		return
	}
	s.finish()
	if s.session == nil { // refused
		return
	}
	s.contained(func() { s.session.Close(err) })
}
