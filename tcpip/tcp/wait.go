package tcp

import (
	"time"

	"weir/wire"
)

// TimeWaitConn is what remains of a connection in TIME-WAIT (RFC 9293, section 3.6.1): enough to
// acknowledge a retransmitted FIN and to judge a new SYN between the same addresses and ports. A
// driver may keep it instead of the Conn: see [Conn.Retire].
type TimeWaitConn struct {
	ExpiresAt      Time // end of TIME-WAIT
	lastAnswerAt   Time // when a segment was last answered; 0: never
	sndNxt, rcvNxt wire.Seq
	tsRecent       wire.Timestamp // TS.Recent: the peer's latest timestamp
	lastTSVal      wire.Timestamp // latest timestamp that this end sent
	tsOffset       uint32         // added to the timestamps that this end sends
	window         uint16         // scaled
	timestamps     bool           // segments carry timestamps
}

// Retire moves a connection from TIME-WAIT to CLOSED and returns what the driver must keep for the
// rest of TIME-WAIT. The application can still read what was received. ok is false in any other
// state.
func (c *Conn) Retire() (w TimeWaitConn, ok bool) {
	if c.state != TimeWait {
		return w, false
	}
	w = *c.timeWaitConn
	w.lastTSVal = c.tsNow()
	c.finish()
	return w, true
}

// Arrive handles a segment (RFC 9293, section 3.10.7.4) and reports whether the driver must send
// what Answer returns. A RST does not end TIME-WAIT (RFC 1337).
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

// Answer returns an acknowledgment of the peer's whole stream.
func (w *TimeWaitConn) Answer(now Time) OutSegment {
	s := OutSegment{Seq: w.sndNxt, Ack: w.rcvNxt, Flags: wire.ACK, Window: w.window}
	if w.timestamps {
		w.lastTSVal = w.tsNow(now)
		s.Options.HasTimestamps, s.Options.TSVal, s.Options.TSEcr = true, w.lastTSVal, w.tsRecent
	}
	return s
}

// CanReopen reports whether a SYN may open a new connection between the same addresses and ports:
// it needs a later timestamp or a higher sequence number (RFC 6191; RFC 9293, section 3.10.7.4).
func (w *TimeWaitConn) CanReopen(syn *Segment) bool {
	if w.timestamps && syn.Options.HasTimestamps && syn.Options.TSVal != w.tsRecent {
		return w.tsRecent.Less(syn.Options.TSVal)
	}
	return w.rcvNxt.Less(syn.Seq)
}

// NextISS is the smallest initial sequence number for such a connection: beyond everything that
// this one sent, plus a window (as in Linux).
func (w *TimeWaitConn) NextISS() wire.Seq { return w.sndNxt.Add(1<<16 + 1) }

// CanDial reports whether this end may open such a connection itself. Its timestamps are later
// after a second, which exceeds a tick of any peer's timestamp clock (RFC 6191, section 2).
func (w *TimeWaitConn) CanDial(cfg *Config, now Time) bool {
	return w.timestamps && now.Sub(w.ExpiresAt.Add(-cfg.TimeWaitDuration)) > time.Second
}

// TimestampAdvanced reports whether the timestamp clock has passed the connection's last timestamp.
// If both ends share a clock, either may then open a new connection at once.
func (w *TimeWaitConn) TimestampAdvanced(now Time) bool {
	return w.timestamps && w.lastTSVal.Less(w.tsNow(now))
}

// tsNow is the connection's timestamp clock.
func (w *TimeWaitConn) tsNow(now Time) wire.Timestamp {
	return wire.Timestamp(uint32(now/1e6) + w.tsOffset)
}
