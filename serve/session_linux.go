package serve

import (
	"syscall"
	"time"
)

// loopSession runs a session whose event loop calls it directly.
type loopSession struct {
	*conn
	session       Session
	inputEnded    bool // the peer has finished, and the session goes on (HalfCloser)
	inputPaused   bool // no Input until the next Wake
	pauseCut      bool // a stop has ended this pause, or the one before, early
	drain         drainBudget
	endErr        error // why to close once the output is sent; nil: it goes on
	flushDeadline int64 // with endErr: when to close in any case, in loop time
}

func startSession(c *conn, open func(Conn) Session) {
	s := &loopSession{conn: c}
	c.driver = s
	err := s.callContained(func() { s.session = open(c) })
	switch {
	case s.session != nil && err == nil:
	case s.outbox.nonEmpty.Load(): // Open has sent the reason to the peer
		s.endAfterFlush(ErrClosed)
	default:
		s.end(ErrClosed)
	}
}

func (s *loopSession) onReadable() {
	if s.readDeferred {
		return
	}
	for range readsPerTurn {
		if s.inputPaused && !s.pauseCut && s.endErr == nil && s.loop.drainDeadline != 0 {
			s.pauseCut = true
			s.wake(time.Now())
		}
		if s.state != connServing || s.inputPaused || s.endErr != nil || s.outbox.nonEmpty.Load() {
			s.endIfBroken()
			return
		}
		if !s.readable || s.inputEnded {
			if s.loop.drainDeadline != 0 {
				s.end(ErrStopped)
			} else if s.inputEnded {
				s.endIfBroken()
			}
			return
		}
		if s.loop.drainDeadline != 0 && s.drain.spent(arrivedInput(s.fd), 0) {
			s.end(ErrStopped)
			return
		}
		n, err := s.read(s.loop.readBuf)
		if err == syscall.EAGAIN {
			continue
		}
		if err == nil {
			s.drain.read(n)
			s.pauseCut = false
			err = s.callInput(s.loop.readBuf[:n])
		} else if half := halfCloser(s.session, err); half != nil {
			s.inputEnded = true
			err = s.callInputEnd(half)
		}
		s.applyWriter(err)
		if s.state != connServing {
			return
		}
	}
	s.loop.deferRead(s.conn)
}

// endIfBroken ends a session that does not read when its connection has broken.
func (s *loopSession) endIfBroken() {
	if s.broken && s.state == connServing {
		s.end(s.brokenError())
	}
}

// applyWriter carries out what the session requested of its writer, and ends the session if err is
// not nil.
func (s *loopSession) applyWriter(err error) {
	w := &s.loop.writer
	s.inputPaused = s.inputPaused || w.pauseInput
	if !w.wakeAt.IsZero() {
		s.setTimer(w.wakeAt)
	}
	if len(w.buf) > 0 && !s.outbox.put(w.buf, s, -1) && err == nil {
		err = ErrClosed
	}
	w.reset()
	if err == nil {
		return
	}
	if !s.outbox.nonEmpty.Load() {
		s.end(err)
		return
	}
	s.endAfterFlush(err)
}

// endAfterFlush ends the session once its output is sent, within bounds.
func (s *loopSession) endAfterFlush(err error) {
	s.endErr, s.flushDeadline = err, s.loop.now()+int64(s.loop.options.flushBound(s.outbox.length()))
	s.extendFlush()
}

// extendFlush gives the peer another FlushTimeout from now on to take output.
func (s *loopSession) extendFlush() {
	s.loop.timers.set(&s.timer, min(s.loop.now()+int64(s.loop.options.FlushTimeout), s.flushDeadline))
}

func (s *loopSession) onWritable() {
	if !s.outbox.nonEmpty.Load() {
		return
	}
	gone, err := s.outbox.flush(s)
	switch {
	case err != nil:
		s.noLinger = true
		s.end(err)
	case gone && s.endErr != nil:
		s.end(s.endErr)
	case s.endErr != nil: // the peer has taken some output
		s.extendFlush()
	case gone:
		s.onReadable()
	}
}

func (s *loopSession) onTimer(now time.Time) {
	if s.endErr != nil {
		s.end(s.endErr)
		return
	}
	s.onPost(now)
}

func (s *loopSession) onPost(now time.Time) {
	if s.endErr != nil {
		return
	}
	s.wake(now)
	if s.state == connServing {
		s.onReadable()
	}
}

func (s *loopSession) wake(now time.Time) {
	s.setTimer(time.Time{})
	s.inputPaused = false
	s.loop.counters.wakes.add(1)
	s.applyWriter(s.callWake(now))
}

func (s *loopSession) callInput(in []byte) (err error) {
	defer s.recover(&err)
	s.loop.callingSession = s
	err = s.session.Input(in, &s.loop.writer)
	s.loop.callingSession = nil
	return err
}

func (s *loopSession) callInputEnd(half HalfCloser) (err error) {
	defer s.recover(&err)
	s.loop.callingSession = s
	err = half.InputEnd(&s.loop.writer)
	s.loop.callingSession = nil
	return err
}

func (s *loopSession) callWake(now time.Time) (err error) {
	defer s.recover(&err)
	s.loop.callingSession = s
	err = s.session.Wake(now, &s.loop.writer)
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
	s.endErr = panicked(s.loop.options, s.loop.counters, s.remote, ErrGoexit)
}

func (s *loopSession) end(err error) {
	if s.state != connServing {
		return
	}
	s.finish()
	defer s.outbox.release() // the descriptor is closed after this iteration of the loop
	if s.session == nil {    // Open has refused the connection
		return
	}
	s.callContained(func() { s.session.Close(err) })
}
