package serve

import (
	"syscall"
	"time"
)

// looped drives a session that its loop calls directly.
type looped struct {
	*conn
	session Session
	held    bool  // no Input until woken
	cut     bool  // a stop has ended this hold, or the one before, ahead of its time
	ending  error // why to close once the output is gone; nil: it goes on
}

func startSession(c *conn, open func(Conn) Session) {
	s := &looped{conn: c}
	c.driver = s
	err := contain(c.l.o, c.l.lane, c.remote, func() error {
		s.session = open(c)
		return nil
	})
	if s.session == nil || err != nil {
		c.close()
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
		if s.closed || s.held || s.ending != nil || s.out.waiting.Load() {
			return
		}
		if !s.readable {
			if s.l.deadline != 0 {
				s.end(ErrStopped)
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
		}
		s.settle(err)
		if s.closed {
			return
		}
	}
	s.l.later(s.conn)
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
	if s.ending = err; !s.out.waiting.Load() {
		s.end(err)
		return
	}
	s.linger()
}

// linger gives the peer its time to take what waits, from now on.
func (s *looped) linger() { s.setTimer(time.Now().Add(s.l.o.Linger)) }

func (s *looped) writable() {
	if !s.out.waiting.Load() {
		return
	}
	gone, err := s.out.flush(s)
	switch {
	case err != nil:
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
	if !s.closed {
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
	return s.session.Input(in, &s.l.out)
}

func (s *looped) wake(now time.Time) (err error) {
	defer s.recover(&err)
	return s.session.Wake(now, &s.l.out)
}

// recover turns a panic of the session into the end of its connection. What it was writing is dropped.
func (s *looped) recover(err *error) {
	if v := recover(); v != nil {
		s.l.out.reset()
		*err = panicked(s.l.o, s.l.lane, s.remote, v)
	}
}

func (s *looped) end(err error) {
	if s.closed {
		return
	}
	s.close()
	contain(s.l.o, s.l.lane, s.remote, func() error { s.session.Close(err); return nil })
}
