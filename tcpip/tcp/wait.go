package tcp

import (
	"time"

	"weir/wire"
)

// Wait is what is left of a connection in TIME-WAIT (RFC 9293, section 3.6.1): enough to
// acknowledge a FIN that comes again, and to know a connection of the same name that follows. A
// driver may keep it in place of the connection: see [Conn.Retire].
type Wait struct {
	Until     Time // TIME-WAIT ends
	answered  Time // when something was last answered; 0: never
	next, rcv wire.Seq
	recent    wire.Stamp
	said      wire.Stamp // the last timestamp that this end sent
	skew      uint32
	window    uint16
	stamps    bool
}

// Retire gives what is left of a connection in TIME-WAIT, and makes the connection CLOSED: what has
// come can still be read. It says whether it was in TIME-WAIT.
func (c *Conn) Retire() (w Wait, ok bool) {
	if c.state != TimeWait {
		return w, false
	}
	w = *c.wait
	w.said = c.stamp()
	c.finish()
	return w, true
}

// Arrive takes a segment (RFC 9293, section 3.10.7.4), and says whether it is to be answered by
// what Answer gives. RST does not end the wait (RFC 1337).
func (w *Wait) Arrive(cfg *Config, now Time, s *Segment) (answer bool) {
	if s.Flags&wire.RST != 0 || s.Seq == w.rcv && s.End() == s.Seq && s.Flags&wire.ACK != 0 {
		return false
	}
	if s.Flags&wire.FIN != 0 {
		w.Until = now.Add(cfg.WaitTime)
	}
	if w.answered != 0 && now.Sub(w.answered) < answerEvery {
		return false
	}
	w.answered = now
	return true
}

// Answer acknowledges what the peer has sent.
func (w *Wait) Answer(now Time) Sending {
	s := Sending{Seq: w.next, Ack: w.rcv, Flags: wire.ACK, Window: w.window}
	if w.stamps {
		w.said = w.stamp(now)
		s.Options.Stamped, s.Options.Stamp, s.Options.Echo = true, w.said, w.recent
	}
	return s
}

// Renewable says whether a SYN may begin a connection of the same name (RFC 6191, and RFC 9293,
// section 3.10.7.4): by a later timestamp, or a later sequence number.
func (w *Wait) Renewable(syn *Segment) bool {
	if w.stamps && syn.Options.Stamped && syn.Options.Stamp != w.recent {
		return w.recent.Less(syn.Options.Stamp)
	}
	return w.rcv.Less(syn.Seq)
}

// Behind is the first place where such a connection's own stream may begin: behind all that this
// one sent, with a window between (as Linux).
func (w *Wait) Behind() wire.Seq { return w.next.Add(1<<16 + 1) }

// Safe says whether this end may begin a connection of the same name by itself: its timestamps are
// later then, and a second is more than the peer's clock needs to see that (RFC 6191, section 2).
func (w *Wait) Safe(cfg *Config, now Time) bool {
	return w.stamps && now.Sub(w.Until.Add(-cfg.WaitTime)) > time.Second
}

// Later says whether timestamps are later by now than all of the connection's, where both ends go
// by one clock: then either may begin another at once. In the millisecond of the last they are not.
func (w *Wait) Later(now Time) bool { return w.stamps && w.said.Less(w.stamp(now)) }

// stamp is the connection's clock for timestamps.
func (w *Wait) stamp(now Time) wire.Stamp { return wire.Stamp(uint32(now/1e6) + w.skew) }
