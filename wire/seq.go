package wire

import "time"

// Seq is a TCP sequence number, modulo 2^32 (RFC 9293, section 3.4). Two are comparable if they are
// less than 2^31 apart.
type Seq uint32

// Less reports whether s is before t.
func (s Seq) Less(t Seq) bool { return int32(s-t) < 0 }

// LessEq reports whether s is before t or equal to it.
func (s Seq) LessEq(t Seq) bool { return int32(s-t) <= 0 }

// Sub returns the distance from t to s; it is negative if s is before t.
func (s Seq) Sub(t Seq) int { return int(int32(s - t)) }

// Add returns the sequence number n after s; n may be negative.
func (s Seq) Add(n int) Seq { return s + Seq(n) }

// InWindow reports whether s is in the window of the given length that starts at first.
func (s Seq) InWindow(first Seq, length int) bool { return uint32(s-first) < uint32(length) }

// Max returns the later of s and t.
func (s Seq) Max(t Seq) Seq {
	if s.Less(t) {
		return t
	}
	return s
}

// Timestamp is a TCP timestamp (RFC 7323): it counts ticks of a clock modulo 2^32, and compares
// like a Seq.
type Timestamp uint32

// Less reports whether s is earlier than t.
func (s Timestamp) Less(t Timestamp) bool { return int32(s-t) < 0 }

// Since returns the time from t to s for a clock with the given tick.
func (s Timestamp) Since(t Timestamp, tick time.Duration) time.Duration {
	return time.Duration(uint32(s-t)) * tick
}
