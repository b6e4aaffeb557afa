package tcp

import (
	"time"

	"weir/wire"
)

// Wait is what is left of a connection in TIME-WAIT (RFC 9293, section 3.6.1): enough to
// acknowledge a FIN that comes again, and to know a connection of the same name that follows. A
// driver may keep it in place of the connection: see [Conn.Retire].
type TimeWaitConn struct {
	ExpiresAt      Time // TIME-WAIT ends
	lastAnswerAt   Time // when something was last answered; 0: never
	sndNxt, rcvNxt wire.Seq
	tsRecent       wire.Timestamp
	lastTSVal      wire.Timestamp // the last timestamp that this end sent
	tsOffset       uint32
	window         uint16
	timestamps     bool
}

// Retire gives what is left of a connection in TIME-WAIT, and makes the connection CLOSED: what has
// come can still be read. It says whether it was in TIME-WAIT.
func (c *Conn) Retire() (w TimeWaitConn, ok bool) {
	if c.state != TimeWait {
		return w, false
	}
	w = *c.timeWaitConn
	w.lastTSVal = c.tsNow()
	c.finish()
	return w, true
}

// Arrive takes a segment (RFC 9293, section 3.10.7.4), and says whether it is to be answered by
// what Answer gives. RST does not end the wait (RFC 1337).
func (w *TimeWaitConn) Arrive(cfg *Config, now Time, s *Segment) (answer bool) {
	if s.Flags&wire.RST != 0 || s.Seq == w.rcvNxt && s.End() == s.Seq && s.Flags&wire.ACK != 0 {
		return false
	}
	if s.Flags&wire.FIN != 0 {
		w.ExpiresAt = now.Add(cfg.TimeWaitDuration)
	}
	if w.lastAnswerAt != 0 && now.Sub(w.lastAnswerAt) < challengeACKInterval {
		return false
	}
	w.lastAnswerAt = now
	return true
}

// Answer acknowledges what the peer has sent.
func (w *TimeWaitConn) Answer(now Time) OutSegment {
	s := OutSegment{Seq: w.sndNxt, Ack: w.rcvNxt, Flags: wire.ACK, Window: w.window}
	if w.timestamps {
		w.lastTSVal = w.tsNow(now)
		s.Options.HasTimestamps, s.Options.TSVal, s.Options.TSEcr = true, w.lastTSVal, w.tsRecent
	}
	return s
}

// Renewable says whether a SYN may begin a connection of the same name (RFC 6191, and RFC 9293,
// section 3.10.7.4): by a later timestamp, or a later sequence number.
func (w *TimeWaitConn) CanReopen(syn *Segment) bool {
	if w.timestamps && syn.Options.HasTimestamps && syn.Options.TSVal != w.tsRecent {
		return w.tsRecent.Less(syn.Options.TSVal)
	}
	return w.rcvNxt.Less(syn.Seq)
}

// Behind is the first place where such a connection's own stream may begin: behind all that this
// one sent, with a window between (as Linux).
func (w *TimeWaitConn) NextISS() wire.Seq { return w.sndNxt.Add(1<<16 + 1) }

// Safe says whether this end may begin a connection of the same name by itself: its timestamps are
// later then, and a second is more than the peer's clock needs to see that (RFC 6191, section 2).
func (w *TimeWaitConn) CanDial(cfg *Config, now Time) bool {
	return w.timestamps && now.Sub(w.ExpiresAt.Add(-cfg.TimeWaitDuration)) > time.Second
}

// Later says whether timestamps are later by now than all of the connection's, where both ends go
// by one clock: then either may begin another at once. In the millisecond of the last they are not.
func (w *TimeWaitConn) TimestampAdvanced(now Time) bool {
	return w.timestamps && w.lastTSVal.Less(w.tsNow(now))
}

// stamp is the connection's clock for timestamps.
func (w *TimeWaitConn) tsNow(now Time) wire.Timestamp {
	return wire.Timestamp(uint32(now/1e6) + w.tsOffset)
}
