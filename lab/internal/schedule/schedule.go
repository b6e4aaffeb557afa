// Package schedule computes when each message of each connection of a load is due. Times are pure
// functions of the settings, so that a run with the same seed has the same times.
//
// # Limitations
//
// Times are exact to a few nanoseconds for the first 104 days.
package schedule

import "math"

// The arrival patterns.
const (
	// connection i of N is i/N of a period after connection 0: evenly spaced arrivals
	Staggered = "staggered"
	Together  = "together" // all connections are due at the same instants
	Poisson   = "poisson"  // each connection is an independent Poisson process
)

// Patterns lists all arrival patterns.
var Patterns = []string{Staggered, Together, Poisson}

// Schedule computes when each message of each connection is due. It is a pure value: the sender's
// order, the backlog and the reader each iterate over a connection's messages with a copy of it and
// share nothing.
type Schedule struct {
	// ns; when connection 0's first message is due, for Poisson the origin of the processes
	Start   int64
	Pattern string  // Staggered, Together or Poisson
	N       int     // connections
	Period  float64 // ns between a connection's messages, the mean for Poisson
	Seed    uint64  // of the Poisson processes
}

// Moment identifies a message of a connection.
type Moment struct {
	K  uint64 // number of the message in its connection, from 0
	At int64  // ns; when it is due
}

// First returns when connection i's first message is due.
func (s *Schedule) First(i int) Moment {
	if s.Pattern == Poisson {
		return Moment{0, s.Start + s.gap(i, 0)}
	}
	return Moment{0, s.At(i, 0)}
}

// After returns the moment that follows m on connection i.
func (s *Schedule) After(i int, m Moment) Moment {
	if s.Pattern == Poisson {
		return Moment{m.K + 1, m.At + s.gap(i, m.K+1)}
	}
	return Moment{m.K + 1, s.At(i, m.K+1)}
}

// At returns when message k of connection i of a periodic pattern is due. It computes from the
// start each time, so that rounding errors do not accumulate. A float64 represents nanoseconds
// exactly for 104 days.
func (s *Schedule) At(i int, k uint64) int64 {
	if s.Pattern == Staggered {
		return s.Start + int64(float64(k*uint64(s.N)+uint64(i))*s.Period/float64(s.N))
	}
	return s.Start + int64(float64(k)*s.Period)
}

// Round returns the first time at or after t at which connection 0 of a periodic pattern is due.
func (s *Schedule) Round(t int64) int64 {
	k := uint64(max(0, math.Ceil(float64(t-s.Start)/s.Period)))
	for s.At(0, k) < t {
		k++
	}
	return s.At(0, k)
}

// gap returns the exponentially distributed time in ns before message k of connection i.
func (s *Schedule) gap(i int, k uint64) int64 {
	h := Mix(Mix(s.Seed^Mix(uint64(i)+1)) + k)
	uniform := (float64(h>>11) + 1) / (1 << 53) // (0, 1]
	return int64(math.Round(-math.Log(uniform) * s.Period))
}

// Mix is a bijection on 64 bits in which every input bit affects every output bit (the finaliser of
// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Order is an order in which connections are due. Peek returns the next connection without changing
// the order; its times never decrease. Advance goes on to the next. Then returns the time that Peek
// is likely to return after the next Advance.
type Order interface {
	Peek() (at int64, conn int)
	Then() (at int64)
	Advance()
}

// Order merges the connections' schedules into one order.
func (s Schedule) Order() Order {
	if s.Pattern == Poisson {
		return newHeap(s)
	}
	return &rounds{Schedule: s}
}

// rounds is the order of the periodic patterns: within a period, connections are ordered by number.
type rounds struct {
	Schedule
	k uint64
	i int
}

func (r *rounds) Peek() (int64, int) { return r.At(r.i, r.k), r.i }

func (r *rounds) Then() int64 { return r.At(r.following()) }

func (r *rounds) Advance() { r.i, r.k = r.following() }

func (r *rounds) following() (i int, k uint64) {
	if r.i+1 == r.N {
		return 0, r.k + 1
	}
	return r.i + 1, r.k
}

// heap is the order of independent processes: a binary heap of each connection's next message.
type heap struct {
	Schedule
	next []due
}

type due struct {
	Moment
	conn int32
}

func newHeap(s Schedule) *heap {
	h := &heap{Schedule: s, next: make([]due, s.N)}
	for i := range h.next {
		h.next[i] = due{s.First(i), int32(i)}
	}
	for i := s.N/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	return h
}

func (h *heap) Peek() (int64, int) { return h.next[0].At, int(h.next[0].conn) }

// Then ignores that the first connection's next message may be due before all others.
func (h *heap) Then() int64 {
	switch len(h.next) {
	case 1:
		return h.After(0, h.next[0].Moment).At
	case 2:
		return h.next[1].At
	}
	return min(h.next[1].At, h.next[2].At)
}

func (h *heap) Advance() {
	top := &h.next[0]
	top.Moment = h.After(int(top.conn), top.Moment)
	h.down(0)
}

// before reports whether d is sent before e. It breaks ties by connection, so that the order
// depends only on the schedule.
func (d due) before(e due) bool { return d.At < e.At || d.At == e.At && d.conn < e.conn }

func (h *heap) down(i int) {
	moving := h.next[i]
	for {
		child := 2*i + 1
		if child >= len(h.next) {
			break
		}
		if child+1 < len(h.next) && h.next[child+1].before(h.next[child]) {
			child++
		}
		if !h.next[child].before(moving) {
			break
		}
		h.next[i] = h.next[child]
		i = child
	}
	h.next[i] = moving
}
