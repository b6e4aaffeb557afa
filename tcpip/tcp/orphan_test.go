package tcp

import (
	"testing"
	"time"

	"weir/wire"
)

// orphanedConn is an orphaned connection with unsent data, and a peer that the test plays.
type orphanedConn struct {
	*Conn
	now  Time
	sent []OutSegment // since the peer's last segment
}

func newOrphan(window uint16) *orphanedConn {
	cfg := Config{}.WithDefaults()
	a := &orphanedConn{now: Time(time.Hour)}
	syn := Segment{Seq: peerISS, Flags: wire.SYN, Window: window}
	syn.Options.MSS = 1000
	a.Conn = Accept(&cfg, ourISS, 0, &syn, a.now)
	a.acknowledge(1, window)
	a.Write(a.now, make([]byte, 5000))
	a.Orphan(a.now)
	a.acknowledge(1, window)
	return a
}

// acknowledge has the peer acknowledge up to a sequence number and advertise a window.
func (a *orphanedConn) acknowledge(ack int, window uint16) {
	a.Output(a.now, func(*OutSegment) {})
	a.sent = nil
	a.Arrive(a.now, &Segment{Seq: peerISS.Add(1), Ack: ourISS.Add(ack), Flags: wire.ACK, Window: window})
	a.Output(a.now, func(o *OutSegment) { a.sent = append(a.sent, *o) })
}

// pass lets time pass, in which the peer answers each segment in the same way.
func (a *orphanedConn) pass(d time.Duration, ack int, window uint16) {
	for until := a.now.Add(d); a.Deadline() != 0 && a.Deadline() <= until && a.State() != Closed; {
		a.now = max(a.now, a.Deadline())
		a.Tick(a.now)
		a.acknowledge(ack, window)
	}
}

// FIN-WAIT-2 of an orphan times out, even if the peer acknowledges the data late and never closes.
func TestFinWait2OfAnOrphanTimesOut(t *testing.T) {
	a := newOrphan(0)
	a.pass(2*time.Minute, 1, 0)
	a.acknowledge(1, 65535)
	a.now = a.now.Add(time.Millisecond)
	a.acknowledge(5002, 65535)
	if a.State() != FinWait2 {
		t.Fatalf("the state is %v after the FIN was acknowledged, want FIN-WAIT-2", a.State())
	}
	a.pass(2*orphanTimeout, 5002, 65535)
	if a.State() != Closed {
		t.Errorf("the state is %v two minutes after the FIN was acknowledged, want CLOSED (next deadline %v)", a.State(), a.Deadline())
	}
}

// A peer that never opens its window does not keep an orphan for ever, even if it answers each
// probe.
func TestZeroWindowDoesNotKeepAnOrphan(t *testing.T) {
	a := newOrphan(0)
	a.pass(time.Hour, 1, 0)
	if a.State() != Closed || a.Cause() != TimedOut {
		t.Errorf("the state is %v (%v) after an hour with %d unsent bytes, want CLOSED (connection timed out)", a.State(), a.Cause(), a.sendBuf.length)
	}
}
