package serve

import (
	"syscall"
	"time"

	"weir/serve/lifecycle"
)

// loopSession runs a session whose event loop calls it directly.
type loopSession struct {
	*conn
	session Session
	life    lifecycle.Session
}

func startSession(c *conn, open func(Conn) Session) {
	s := &loopSession{conn: c}
	c.driver = s
	err := s.callContained(func() { s.session = open(c) })
	if s.life.Opened(); s.session == nil || err != nil {
		s.endAfterFlush(ErrClosed) // Open may have sent the reason to the peer
	}
}

func (s *loopSession) onReadable() {
	if !s.readDeferred {
		s.run(0, time.Time{})
	}
}

func (s *loopSession) onTimer(now time.Time) { s.run(lifecycle.Due, now) }

func (s *loopSession) onPost(now time.Time) { s.run(lifecycle.Posted, now) }

func (s *loopSession) onWritable() {
	if !s.outbox.nonEmpty.Load() {
		return
	}
	switch gone, err := s.outbox.flush(s); {
	case err != nil:
		s.noLinger = true
		s.end(err)
	case gone:
		s.run(0, time.Time{})
	case s.life.HasEnded(): // the peer has taken some output
		s.life.Progressed(s.loop.lifeTime(), s.loop.options.FlushTimeout)
		s.syncTimer()
	}
}

// run does what is due for the session until it must wait, or has had its turn. f are facts beside
// those of the connection: they hold once. now is the time of a Wake; zero: it is not known.
func (s *loopSession) run(f lifecycle.Facts, now time.Time) {
	for range readsPerTurn {
		if s.state != connServing {
			return
		}
		f |= s.facts()
		step := s.life.Next(f)
		if step == lifecycle.Measure {
			step = s.life.Measured(arrivedInput(s.fd), 0)
		}
		switch step {
		case lifecycle.Read:
			if s.readDeferred {
				return
			}
			s.readInput(f)
		case lifecycle.Wake:
			s.wake(f, now)
		case lifecycle.EndStopped:
			s.end(ErrStopped)
		case lifecycle.EndBroken:
			s.end(s.brokenError())
		case lifecycle.GiveUp:
			s.resetAtClose()
			s.end(ErrClosed)
		case lifecycle.Finish:
			s.end(ErrClosed)
		default:
			return
		}
		f = 0
	}
	s.loop.deferRead(s.conn)
}

// facts returns what the loop knows of the connection.
func (s *loopSession) facts() lifecycle.Facts {
	return lifecycle.When(s.readable, lifecycle.InputReady) |
		lifecycle.When(s.outbox.nonEmpty.Load(), lifecycle.OutputQueued) |
		lifecycle.When(s.loop.drainDeadline != 0, lifecycle.Stopping) |
		lifecycle.When(s.broken, lifecycle.Broken)
}

func (s *loopSession) readInput(f lifecycle.Facts) {
	n, err := s.read(s.loop.readBuf)
	switch {
	case err == syscall.EAGAIN:
		return
	case err == nil:
		s.life.Took(n)
		err = s.call(lifecycle.Read, s.loop.readBuf[:n], time.Time{})
	case survivesEOF(s.session, err):
		s.life.InputEnded()
		err = s.call(lifecycle.InputEnd, nil, time.Time{})
	}
	s.applyWriter(lifecycle.Read, f, err)
}

func (s *loopSession) wake(f lifecycle.Facts, now time.Time) {
	if now.IsZero() {
		now = time.Now()
	}
	s.loop.counters.wakes.add(1)
	s.applyWriter(lifecycle.Wake, f, s.call(lifecycle.Wake, nil, now))
}

// applyWriter carries out what the session requested of its writer in the call of a step, and ends
// the session if err is not nil.
func (s *loopSession) applyWriter(step lifecycle.Step, f lifecycle.Facts, err error) {
	w := &s.loop.writer
	s.life.Called(step, f, w.pauseInput, lifecycle.Time(s.loop.deadline(w.wakeAt)))
	if len(w.buf) > 0 && !s.outbox.put(w.buf, s, -1) && err == nil {
		err = ErrClosed
	}
	w.reset()
	if err != nil {
		s.endAfterFlush(err)
		return
	}
	s.syncTimer()
}

// syncTimer sets the connection's one timer to that of the session.
func (s *loopSession) syncTimer() {
	switch at := int64(s.life.Timer()); {
	case at == 0:
		s.loop.timers.remove(&s.timer)
	case at != s.timer.at || s.timer.index == unset:
		s.loop.timers.set(&s.timer, at)
	}
}

// endAfterFlush ends the session once its output is sent, within bounds.
func (s *loopSession) endAfterFlush(err error) {
	s.outbox.close() // nothing may follow its last output
	if !s.outbox.nonEmpty.Load() {
		s.end(err)
		return
	}
	s.life.End(err, s.loop.lifeTime(), s.outbox.length(), s.loop.options.FlushTimeout)
	s.syncTimer()
}

// call makes the session's call of a step.
func (s *loopSession) call(step lifecycle.Step, in []byte, now time.Time) (err error) {
	defer s.recover(&err)
	s.loop.callingSession = s
	err = callSession(s.session, step, in, now, &s.loop.writer)
	s.loop.callingSession = nil
	return err
}

// callContained calls f, which calls the session.
func (s *loopSession) callContained(f func()) (err error) {
	defer s.recover(&err)
	s.loop.callingSession = s
	f()
	s.loop.callingSession = nil
	return nil
}

// recover turns a panic of the session into the end of its connection. The output of the call is
// dropped. After a Goexit, which this goroutine does not survive, the loop's next goroutine ends
// the connection.
func (s *loopSession) recover(err *error) {
	v := recover()
	if v == nil && s.loop.callingSession == nil {
		return
	}
	s.loop.writer.reset()
	if v != nil {
		s.loop.callingSession = nil
		*err = panicked(s.loop.options, s.loop.counters, s.remote, v)
		return
	}
	s.life.End(panicked(s.loop.options, s.loop.counters, s.remote, ErrGoexit), 0, 0, 0)
}

// end ends the session and its connection. Of several reasons the first counts.
func (s *loopSession) end(err error) {
	if s.state != connServing {
		return
	}
	s.life.End(err, 0, 0, 0)
	s.finish()
	defer s.outbox.release() // the descriptor is closed after this iteration of the loop
	if s.session == nil {    // Open has refused the connection
		return
	}
	s.callContained(func() { s.session.Close(s.life.Reason()) })
}
