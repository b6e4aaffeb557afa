package serve

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

// endsIdle expects the end of a connection that never transfers bytes, and of one that stops
// transferring.
func endsIdle(t *testing.T, r *running, _ Way) {
	silent, spoke := r.dialSoon(), r.dialSoon()
	if _, err := io.WriteString(spoke, "here"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(silent); len(got) > 0 || err != nil {
		t.Errorf("a silent connection got %q, %v, want the end", got, err)
	}
	if got, err := io.ReadAll(spoke); string(got) != "here" && string(got) != "" || err != nil {
		t.Errorf("a connection that spoke got %q, %v, want its echo and the end", got, err)
	}
	r.stopsCleanly()
}

func TestTransfersKeepAConnectionFromBeingIdle(t *testing.T) {
	var i idleDetector
	for n, look := range []struct {
		passed int64
		want   bool
	}{{1, false}, {1, false}, {1, false}, {2, false}, {2, false}, {2, false}, {2, false}, {2, true}} {
		if got := i.check(look.passed); got != look.want {
			t.Errorf("look %d, after %d reads and writes: idle is %v, want %v", n, look.passed, got, look.want)
		}
	}
}

// A session that does not read is idle, too, when nothing is transferred.
func TestAPausedSessionIsEndedWhenIdle(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		for _, c := range nonReadingSessions {
			s, opened := c.service()
			r := startService(t, w, sessions, s, Options{IdleTimeout: 20 * time.Millisecond})
			peer := r.dial()
			peer.Write([]byte("?"))
			session := receive(t, opened, "a session that "+c.name)
			if err := receive(t, session.closed, "Close with ErrIdle of a session that "+c.name); !errors.Is(err, ErrIdle) {
				t.Errorf("a session that %s: Close received %v, want ErrIdle", c.name, err)
			}
			r.stopsCleanly()
		}
	})
}

// nonReadingSessions lists the sessions that do not read.
var nonReadingSessions = []struct {
	name    string
	service func() (service, chan *nonReadingSession)
}{
	{"holds", func() (service, chan *nonReadingSession) {
		return nonReadingService(func(out *Writer) { out.PauseInput() })
	}},
	{"holds, and is to be woken", func() (service, chan *nonReadingSession) {
		return nonReadingService(func(out *Writer) { out.PauseInput(); out.WakeAt(time.Now().Add(tooLong)) })
	}},
	{"has output stuck", func() (service, chan *nonReadingSession) {
		return nonReadingService(func(out *Writer) { out.Write(make([]byte, much)) })
	}},
}

// nonReadingSession is a session that does not read after its first input.
type nonReadingSession struct {
	do     func(*Writer)
	inputs chan struct{} // session -> test, one; capacity 1
	closed chan error    // capacity 1: Close is called once
}

func nonReadingService(do func(*Writer)) (service, chan *nonReadingSession) {
	opened := make(chan *nonReadingSession, 1) // session's owner -> test
	return service{open: func(Conn) Session {
		w := &nonReadingSession{do: do, inputs: make(chan struct{}, 1), closed: make(chan error, 1)}
		opened <- w
		return w
	}}, opened
}

func (w *nonReadingSession) Input(_ []byte, out *Writer) error {
	w.do(out)
	w.inputs <- struct{}{}
	return nil
}

func (w *nonReadingSession) Wake(time.Time, *Writer) error { return nil }
func (w *nonReadingSession) Close(err error)               { w.closed <- err }

// A session that does not read is notified of a reset, with input unread or without.
func TestAPausedSessionIsNotifiedOfAReset(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		for _, c := range nonReadingSessions {
			for _, unread := range []string{"", "unread"} {
				s, opened := c.service()
				r := startService(t, w, sessions, s, Options{})
				peer := r.dial()
				peer.Write([]byte("?"))
				session := receive(t, opened, "a session that "+c.name)
				receive(t, session.inputs, "the input of a session that "+c.name)
				io.WriteString(peer, unread)
				peer.SetLinger(0)
				peer.Close()
				err := receive(t, session.closed, fmt.Sprintf("Close with the reset, of a session that %s, input %q unread", c.name, unread))
				if err == nil || err == io.EOF || err == ErrStopped {
					t.Errorf("a session that %s: Close received %v, want the reset", c.name, err)
				}
				r.stopsCleanly()
			}
		}
	})
}
