package wire

import "time"

// Seq is a TCP sequence number: a place in a stream, modulo 2^32 (RFC 9293, section 3.4). Two are
// comparable as long as they are less than 2^31 apart.
type Seq uint32

// Less says whether s comes before t.
func (s Seq) Less(t Seq) bool { return int32(s-t) < 0 }

// LessEq says whether s comes before t or is t.
func (s Seq) LessEq(t Seq) bool { return int32(s-t) <= 0 }

// Sub is how far s is behind t; below zero if it is before.
func (s Seq) Sub(t Seq) int { return int(int32(s - t)) }

// Add is the place n further on; n may be below zero.
func (s Seq) Add(n int) Seq { return s + Seq(n) }

// In says whether s is in the window of the given length that begins at first.
func (s Seq) In(first Seq, length int) bool { return uint32(s-first) < uint32(length) }

// Later is the later of two.
func (s Seq) Max(t Seq) Seq {
	if s.Less(t) {
		return t
	}
	return s
}

// Stamp is a timestamp of RFC 7323: it counts a clock's ticks modulo 2^32, and compares as a Seq
// does.
type Timestamp uint32

// Less says whether s is older than t.
func (s Timestamp) Less(t Timestamp) bool { return int32(s-t) < 0 }

// Since is the time from t to s, for a clock with the given tick.
func (s Timestamp) Since(t Timestamp, tick time.Duration) time.Duration {
	return time.Duration(uint32(s-t)) * tick
}
