package lifecycle

import (
	"math"
	"time"
)

// Time is a point on the driver's clock in nanoseconds. Zero is no time.
type Time int64

// State is the phase of a session's life.
type State uint8

const (
	New      State = iota // the service has not opened the session
	Reading               // input goes to the session
	Paused                // the session has paused its input until its next Wake, or a stop
	Held                  // the session has paused again when a stop woke it: until its next Wake
	Flushing              // the session has ended; its peer has to take the output that is left
	Ended                 // the connection is closed, by a lingering close if output could be lost
	states
)

// event is what makes a session enter another state.
type event uint8

const (
	opened  event = iota // the service has opened the session
	pause                // a call of the session has paused its input
	hold                 // a Wake during the stop has paused its input
	wake                 // Wake was called
	end                  // the session has ended: by an error of its own, or as a step demanded
	flushed              // the output that was left is sent, or given up
	events
)

// transitions gives the next state. An event that a state does not list changes nothing.
var transitions = [states][events]State{
	New:      {opened: Reading, end: Flushing},
	Reading:  {pause: Paused, hold: Held, end: Flushing},
	Paused:   {wake: Reading, end: Flushing},
	Held:     {wake: Reading, end: Flushing},
	Flushing: {flushed: Ended},
}

// Facts are what a driver knows when it asks for the next step. It clears Posted and Due once they
// have led to a Wake.
type Facts uint16

const (
	InputReady   Facts = 1 << iota // a read returns input, its end, an error, or that it would wait
	OutputQueued                   // the kernel has not taken all output
	Duplex                         // the session reads also while output is queued
	Posted                         // Conn.Post was called after the last Wake
	Due                            // the time of Timer has come
	Stopping                       // the service is stopping
	CloseWanted                    // Conn.Close was called
	Broken                         // the connection has failed; input that has arrived can be read
)

// When returns f if it holds.
func When(holds bool, f Facts) Facts {
	if holds {
		return f
	}
	return 0
}

// Step is what a driver must do next.
type Step uint8

const (
	Wait       Step = iota // nothing, until a fact changes or the time of Timer comes
	Open                   // open the session
	Wake                   // call the session's Wake
	Read                   // read, and call Input; at the end of the input call InputEnd or End
	InputEnd               // call InputEnd: Next does not return it, a read that ends leads to it
	Measure                // count the input that has arrived: Measured returns the next step
	Flush                  // nothing before the kernel has taken output
	EndClosed              // end the session, because Conn.Close was called
	EndStopped             // end the session, because the service stops and no input is left
	EndBroken              // end the session, because the connection has failed
	Finish                 // close the connection: all output is sent, or cannot be
	GiveUp                 // reset the connection: its peer takes too little of the output
)

// UnknownInput is the length of input on a connection that cannot tell what has arrived.
const UnknownInput = math.MaxInt

// minFlushRate is how many bytes a second the peer of an ended session must take, besides the flush
// timeout.
const minFlushRate = 1 << 10

// Session is the life of one session. Its zero value is a session that is not open.
type Session struct {
	state      State
	inputEnded bool // the session goes on after the end of its input
	measured   bool // inputLeft is set
	inputLeft  int  // input that a stop leaves to the session, in bytes
	timer      Time // when to wake the session or, in Flushing, to give up; 0: never
	giveUpAt   Time // in Flushing: when to give up in any case
	reason     error
}

// Next returns the next step.
func (s *Session) Next(f Facts) Step {
	switch {
	case s.state >= Flushing:
		return s.nextFlushing(f)
	case s.state == New:
		return Open
	case f&CloseWanted != 0:
		return EndClosed
	case f&Broken != 0 && !s.reads(f):
		return EndBroken // a wake-up may never come, and output can no longer be sent
	case f&(Posted|Due) != 0 || s.state == Paused && f&Stopping != 0:
		return Wake
	case f&(OutputQueued|Duplex) == OutputQueued:
		return Flush
	case s.state != Reading:
		return Wait
	case !s.reads(f):
		return s.nextDry(f)
	case f&Stopping != 0:
		return Measure
	}
	return Read
}

// reads reports whether the session gets input before anything else happens.
func (s *Session) reads(f Facts) bool {
	return s.state == Reading && !s.inputEnded && f&InputReady != 0 && f&(OutputQueued|Duplex) != OutputQueued
}

// nextDry is Next for a session without input.
func (s *Session) nextDry(f Facts) Step {
	switch {
	case f&OutputQueued != 0:
		return Flush
	case f&Stopping != 0:
		return EndStopped
	}
	return Wait
}

// nextFlushing is Next for a session that has ended.
func (s *Session) nextFlushing(f Facts) Step {
	switch {
	case s.state == Ended || f&OutputQueued == 0 || f&(CloseWanted|Broken) != 0:
		return Finish
	case f&Due != 0:
		return GiveUp
	}
	return Flush
}

// Measured is the answer to Measure and returns the step that takes its place. A stop leaves a
// session the input that had arrived at the first Measure. Otherwise a peer that goes on sending
// would keep it. queued is the length of the input in the kernel, or UnknownInput; buffered is the
// most that TLS may have read of it. With nothing in the kernel, the next read shows whether the
// peer has finished.
func (s *Session) Measured(queued, buffered int) Step {
	if !s.measured {
		s.measured, s.inputLeft = true, queued
		if queued != UnknownInput {
			s.inputLeft += buffered
		}
	}
	if s.inputLeft <= 0 && queued > 0 {
		return EndStopped
	}
	return Read
}

// Opened reports that the service has opened the session.
func (s *Session) Opened() { s.to(opened) }

// Took reports that the session was given n bytes of input.
func (s *Session) Took(n int) {
	if s.measured && s.inputLeft != UnknownInput {
		s.inputLeft -= n
	}
}

// InputEnded reports that the input has ended and the session goes on.
func (s *Session) InputEnded() { s.inputEnded = true }

// Called reports what a call of the session has asked of its Writer. step is that of the call, f
// the facts that have led to it. wakeAt is the session's next wake-up; 0: no change.
func (s *Session) Called(step Step, f Facts, pauses bool, wakeAt Time) {
	if step == Wake {
		s.timer = 0
		s.to(wake)
	}
	if wakeAt != 0 && s.state < Flushing {
		s.timer = wakeAt
	}
	switch {
	case !pauses:
	case step == Wake && f&Stopping != 0:
		s.to(hold)
	default:
		s.to(pause)
	}
}

// End ends the session. rest is the output that is left, in bytes: its peer must take some of it in
// every timeout, and all of it at minFlushRate. Of several reasons the first counts.
func (s *Session) End(reason error, now Time, rest int, timeout time.Duration) {
	if s.state >= Flushing {
		return
	}
	s.to(end)
	s.reason = reason
	s.giveUpAt = now + Time(timeout) + Time(rest/minFlushRate)*Time(time.Second)
	s.Progressed(now, timeout)
}

// Progressed reports that the peer of a session that has ended has taken output. It returns Timer.
func (s *Session) Progressed(now Time, timeout time.Duration) Time {
	s.timer = min(now+Time(timeout), s.giveUpAt)
	return s.timer
}

// Flushed reports that the output of a session that has ended is sent or given up.
func (s *Session) Flushed() {
	s.to(flushed)
	s.timer = 0
}

// State returns the session's state.
func (s *Session) State() State { return s.state }

// HasEnded reports whether the session has ended: nothing but its Close is called any more.
func (s *Session) HasEnded() bool { return s.state >= Flushing }

// Reason returns why the session has ended.
func (s *Session) Reason() error { return s.reason }

// Timer returns when the fact Due holds next; 0: not before it changes.
func (s *Session) Timer() Time { return s.timer }

// Due returns the fact Due at a time.
func (s *Session) Due(now Time) Facts { return When(s.timer != 0 && s.timer <= now, Due) }

// to enters the state that follows an event.
func (s *Session) to(e event) {
	if next := transitions[s.state][e]; next != New {
		s.state = next
	}
}
