package lifecycle

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const flushTimeout = 30 * time.Second

// world is a driver whose peer, session and other goroutines act at random. Beside the machine it
// has a model: what a session was promised, in plain variables.
type world struct {
	session Session
	now     Time

	input, queued    int // bytes that the peer has sent, and has not taken
	peerEnded        bool
	posted, stopping bool
	closed, broken   bool

	// The model.
	paused, honoured bool // the session has paused; a stop does not end this pause
	inputEnded       bool // the session was notified of the end of its input
	wakeAt           Time // 0: none
	arrivedAtStop    int  // input that is left to the session; -1: it has not been counted
	ended            error
	endedAt, tookAt  Time // in the flush: when it started, and when the peer took some
	rest             int  // output at the end, in bytes
	finished         bool
}

// TestASessionKeepsItsPromises runs a session in random worlds and compares every step with the
// model.
func TestASessionKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{arrivedAtStop: -1, now: 1}
		w.session.Opened()
		t.Repeat(map[string]func(*rapid.T){
			"peer sends":   w.peerSends,
			"peer takes":   w.peerTakes,
			"peer ends":    func(*rapid.T) { w.peerEnded = true },
			"time passes":  func(t *rapid.T) { w.now += Time(rapid.IntRange(1, 40).Draw(t, "seconds")) * Time(time.Second) },
			"post":         func(*rapid.T) { w.posted = true },
			"service ends": func(*rapid.T) { w.stopping = true },
			"close":        func(t *rapid.T) { w.closed = w.closed || rapid.IntRange(0, 9).Draw(t, "one in ten") == 0 },
			"reset":        func(t *rapid.T) { w.broken = w.broken || rapid.IntRange(0, 9).Draw(t, "one in ten") == 0 },
			"":             w.step,
		})
		w.endsOnceLeftAlone(t)
	})
}

func (w *world) peerSends(t *rapid.T) {
	if n := rapid.IntRange(1, 9000).Draw(t, "bytes"); !w.peerEnded && !w.broken {
		w.input += n
	}
}

func (w *world) peerTakes(t *rapid.T) {
	if n := min(w.queued, rapid.IntRange(1, 4000).Draw(t, "bytes")); n > 0 {
		w.queued -= n
		if w.tookAt = w.now; w.session.HasEnded() {
			w.session.Progressed(w.now, flushTimeout)
		}
	}
}

func (w *world) hasInput() bool { return w.input > 0 || w.peerEnded && !w.inputEnded }

func (w *world) due() bool { return w.wakeAt != 0 && w.wakeAt <= w.now }

func (w *world) facts() Facts {
	f := w.session.Due(w.now)
	for fact, holds := range map[Facts]bool{InputReady: w.hasInput(), OutputQueued: w.queued > 0,
		Posted: w.posted, Stopping: w.stopping, CloseWanted: w.closed, Broken: w.broken} {
		if holds {
			f |= fact
		}
	}
	return f
}

// step carries out the next step and checks that it is one that the model allows.
func (w *world) step(t *rapid.T) {
	f := w.facts()
	step := w.session.Next(f)
	if step == Measure {
		if w.arrivedAtStop < 0 {
			w.arrivedAtStop = w.input
		}
		step = w.session.Measured(w.input, 0)
	}
	if (step == Finish || step == GiveUp || w.ended != nil) && !w.flushes(t, step) {
		return
	}
	switch mayRead := !w.paused && w.queued == 0; step {
	case Read:
		demand(t, mayRead && w.hasInput() && !(w.stopping && w.arrivedAtStop == 0 && w.input > 0), "%+v: got Read, want it only for input that a session may get", w)
		w.read(t, f)
	case Wake:
		demand(t, w.posted || w.due() || w.paused && w.stopping && !w.honoured, "%+v: got Wake, want it for a post, a time, or a stop", w)
		w.posted, w.paused, w.wakeAt = false, false, 0
		w.calls(t, Wake, f)
	case Flush:
		demand(t, w.queued > 0, "%+v: got Flush without output", w)
	case Wait:
		demand(t, w.queued == 0 && !w.posted && !w.due() && !w.closed && !w.broken && (w.paused || !w.stopping && !w.hasInput()), "%+v: got Wait, want what is due", w)
	case EndClosed:
		w.end(t, w.closed, errors.New("closed"))
	case EndBroken:
		w.end(t, w.broken, errors.New("broken"))
	case EndStopped:
		w.end(t, w.stopping && mayRead && (!w.hasInput() || w.arrivedAtStop == 0), errors.New("stopped"))
	default:
		t.Fatalf("%+v: got step %v of an open session", w, step)
	}
}

// flushes checks a step of a session that has ended, and reports whether it is open instead.
func (w *world) flushes(t *rapid.T, step Step) bool {
	quiet := w.now - max(w.endedAt, w.tookAt)
	late := quiet >= Time(flushTimeout) || w.now-w.endedAt >= Time(flushTimeout)+Time(w.rest/minFlushRate)*Time(time.Second)
	switch step {
	case Flush:
		demand(t, w.queued > 0 && !late, "%+v: got Flush, want an end", w)
	case GiveUp:
		demand(t, w.queued > 0 && late, "%+v: got GiveUp, want it only if the peer is too slow", w)
		w.finished = true
	case Finish:
		demand(t, w.ended != nil && (w.queued == 0 || w.closed || w.broken || w.finished), "%+v: got Finish, want all output sent", w)
		w.finished = true
	default:
		t.Fatalf("%+v: got step %v of a session that has ended, want no call", w, step)
	}
	demand(t, w.session.Reason() == w.ended, "got the reason %v, want %v, the first", w.session.Reason(), w.ended)
	return false
}

// read gives the session input, or its end.
func (w *world) read(t *rapid.T, f Facts) {
	w.honoured = false
	if w.input == 0 {
		w.inputEnded = true
		w.session.InputEnded()
		w.calls(t, InputEnd, f)
		return
	}
	n := min(w.input, 4096)
	if w.input -= n; w.arrivedAtStop >= 0 {
		w.arrivedAtStop = max(0, w.arrivedAtStop-n)
	}
	w.session.Took(n)
	w.calls(t, Read, f)
}

// calls is a call of the session, which pauses, sets a time, writes and ends at random.
func (w *world) calls(t *rapid.T, step Step, f Facts) {
	at := Time(0)
	if rapid.Bool().Draw(t, "sets a time") {
		at = w.now + Time(rapid.IntRange(1, 60).Draw(t, "seconds"))*Time(time.Second)
		w.wakeAt = at
	}
	pauses := rapid.IntRange(0, 3).Draw(t, "pauses") == 0
	w.paused, w.honoured = pauses, pauses && step == Wake && f&Stopping != 0
	w.queued += rapid.SampledFrom([]int{0, 0, 100, 50_000}).Draw(t, "output")
	w.session.Called(step, f, pauses, at)
	if rapid.IntRange(0, 9).Draw(t, "ends") == 0 {
		w.end(t, true, errors.New("by itself"))
	}
}

// end ends the session for a reason, and once more for another.
func (w *world) end(t *rapid.T, allowed bool, reason error) {
	demand(t, allowed, "%+v: got the end %v, want it only for that reason", w, reason)
	w.ended, w.endedAt, w.tookAt, w.rest = reason, w.now, 0, w.queued
	w.session.End(reason, w.now, w.queued, flushTimeout)
	w.session.End(errors.New("another"), w.now, w.queued, flushTimeout)
}

// endsOnceLeftAlone: with a stop, and a peer that takes all output, a session that does not pause
// again ends.
func (w *world) endsOnceLeftAlone(t *rapid.T) {
	w.stopping = true
	for range 10 + w.input { // each step handles input, output or the end
		if w.finished {
			return
		}
		w.queued, w.posted = 0, w.paused
		f := w.facts()
		switch step := w.session.Next(f); step {
		case Read, Measure:
			w.input = max(0, w.input-4096)
			w.inputEnded = w.inputEnded || w.peerEnded && w.input == 0
		case Wake:
			w.paused, w.wakeAt = false, 0
			w.session.Called(Wake, f, false, 0)
		case EndClosed, EndBroken, EndStopped:
			w.session.End(errors.New("stopped"), w.now, 0, flushTimeout)
		case Finish:
			w.finished = true
		}
	}
	t.Fatalf("%+v: got a session that goes on after a stop, want its end", w)
}

func demand(t *rapid.T, holds bool, format string, args ...any) {
	if !holds {
		t.Fatalf(format, args...)
	}
}
