package tcp

import (
	"testing"
	"time"

	"weir/wire"
)

// abandoned is one end that nobody reads or writes any more, with a window's worth unsent, and a
// peer that the test plays.
type abandoned struct {
	*Conn
	now  Time
	said []OutSegment // since the peer last spoke
}

func abandon(window uint16) *abandoned {
	cfg := Config{}.WithDefaults()
	a := &abandoned{now: Time(time.Hour)}
	syn := Segment{Seq: peerISS, Flags: wire.SYN, Window: window}
	syn.Options.MSS = 1000
	a.Conn = Accept(&cfg, ourISS, 0, &syn, a.now)
	a.speak(1, window)
	a.Write(a.now, make([]byte, 5000))
	a.Orphan(a.now)
	a.speak(1, window)
	return a
}

// speak has the peer acknowledge up to a place, and offer a window.
func (a *abandoned) speak(ack int, window uint16) {
	a.Output(a.now, func(*OutSegment) {})
	a.said = nil
	a.Arrive(a.now, &Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(ack), Flags: wire.ACK, Window: window})
	a.Output(a.now, func(o *OutSegment) { a.said = append(a.said, *o) })
}

// pass lets time go by, in which the peer says the same to all that it hears.
func (a *abandoned) pass(d time.Duration, ack int, window uint16) {
	for until := a.now.Add(d); a.Deadline() != 0 && a.Deadline() <= until && a.State() != Closed; {
		a.now = max(a.now, a.Deadline())
		a.Tick(a.now)
		a.speak(ack, window)
	}
}

// A peer that takes its time with what is left, and then never closes, does not keep the connection
// for ever.
func TestFINWAIT2OfAnOrphanEndsHoweverLateItBegins(t *testing.T) {
	a := abandon(0)
	a.pass(2*time.Minute, 1, 0)
	a.speak(1, 65535)
	a.now = a.now.Add(time.Millisecond)
	a.speak(5002, 65535)
	if a.State() != FinWait2 {
		t.Fatalf("the state is %v, with all acknowledged", a.State())
	}
	a.pass(2*orphanTimeout, 5002, 65535)
	if a.State() != Closed {
		t.Errorf("the state is %v two minutes after FIN was acknowledged, and the next deadline %v", a.State(), a.Deadline())
	}
}

// A peer that never opens its window does not keep what is left for ever, however well it answers.
func TestAClosedWindowDoesNotKeepAnOrphan(t *testing.T) {
	a := abandon(0)
	a.pass(time.Hour, 1, 0)
	if a.State() != Closed || a.Cause() != TimedOut {
		t.Errorf("the state is %v (%v) after an hour, with %d bytes to send", a.State(), a.Cause(), a.sendBuf.length)
	}
}
