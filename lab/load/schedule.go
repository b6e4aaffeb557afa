package load

import (
	"math"

	"weir/lab/load/internal/tally"
)

// schedule computes when each message of each connection is due. It is a pure value: the sender's
// order, the backlog and the reader each iterate over a connection's messages with a copy of it and
// share nothing.
type schedule struct {
	// ns; when connection 0's first message is due, for Poisson the origin of the processes
	start   int64
	pattern string  // Staggered, Together or Poisson
	n       int     // connections
	period  float64 // ns between a connection's messages, the mean for Poisson
	seed    uint64
}

// moment identifies a message of a connection.
type moment struct {
	k  uint64 // number of the message in its connection, from 0
	at int64  // ns; when it is due
}

// first returns when connection i's first message is due.
func (s *schedule) first(i int) moment {
	if s.pattern == Poisson {
		return moment{0, s.start + s.gap(i, 0)}
	}
	return moment{0, s.periodic(i, 0)}
}

// after returns the moment that follows m on connection i.
func (s *schedule) after(i int, m moment) moment {
	if s.pattern == Poisson {
		return moment{m.k + 1, m.at + s.gap(i, m.k+1)}
	}
	return moment{m.k + 1, s.periodic(i, m.k+1)}
}

// periodic computes from the start each time, so that rounding errors do not accumulate. A float64
// represents nanoseconds exactly for 104 days.
func (s *schedule) periodic(i int, k uint64) int64 {
	phase := 0.0
	if s.pattern == Staggered {
		phase = float64(i) / float64(s.n)
	}
	return s.start + int64((float64(k)+phase)*s.period)
}

// round returns the first time at or after t at which connection 0 of a periodic pattern is due.
func (s *schedule) round(t int64) int64 {
	k := uint64(max(0, math.Ceil(float64(t-s.start)/s.period)))
	for s.periodic(0, k) < t {
		k++
	}
	return s.periodic(0, k)
}

// gap returns the exponentially distributed time in ns before message k of connection i.
func (s *schedule) gap(i int, k uint64) int64 {
	h := mix(mix(s.seed^mix(uint64(i)+1)) + k)
	uniform := (float64(h>>11) + 1) / (1 << 53) // (0, 1]
	return int64(math.Round(-math.Log(uniform) * s.period))
}

// mix is a bijection on 64 bits in which every input bit affects every output bit (the finaliser of
// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// sendOrder is an order in which connections are due. peek returns the next connection without
// changing the order; its times never decrease. take advances, at time now, and returns how many
// more bytes that connection owes. then returns the time that peek is likely to return after the
// next take; 0 if unknown.
type sendOrder interface {
	peek() (at int64, conn int)
	then() (at int64)
	take(now int64) (bytes int)
}

// emptyOrder is the order of no connections.
type emptyOrder struct{}

func (emptyOrder) peek() (int64, int) { return tally.Unset - 1, 0 }
func (emptyOrder) then() int64        { return 0 }
func (emptyOrder) take(int64) int     { return 0 }

// newOrder merges the connections' schedules into one order, with size bytes per message.
func newOrder(s schedule, size int) sendOrder {
	if s.pattern == Poisson {
		return newHeap(s, size)
	}
	return &rounds{schedule: s, size: size}
}

// rounds is the order of the periodic patterns: within a period, connections are ordered by number.
type rounds struct {
	schedule
	size int
	k    uint64
	i    int
}

func (r *rounds) peek() (int64, int) { return r.periodic(r.i, r.k), r.i }

func (r *rounds) then() int64 { return r.periodic(r.following()) }

func (r *rounds) take(int64) int {
	r.i, r.k = r.following()
	return r.size
}

func (r *rounds) following() (i int, k uint64) {
	if r.i+1 == r.n {
		return 0, r.k + 1
	}
	return r.i + 1, r.k
}

// heap is the order of independent processes: a binary heap of each connection's next message.
type heap struct {
	schedule
	size int
	next []due
}

type due struct {
	moment
	conn int32
}

func newHeap(s schedule, size int) *heap {
	h := &heap{schedule: s, size: size, next: make([]due, s.n)}
	for i := range h.next {
		h.next[i] = due{s.first(i), int32(i)}
	}
	for i := s.n/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	return h
}

func (h *heap) peek() (int64, int) { return h.next[0].at, int(h.next[0].conn) }

// then ignores that the first connection's next message may be due before all others.
func (h *heap) then() int64 {
	switch len(h.next) {
	case 1:
		return 0
	case 2:
		return h.next[1].at
	}
	return min(h.next[1].at, h.next[2].at)
}

func (h *heap) take(int64) int {
	top := &h.next[0]
	top.moment = h.after(int(top.conn), top.moment)
	h.down(0)
	return h.size
}

// before reports whether d is sent before e. It breaks ties by connection, so that the order
// depends only on the schedule.
func (d due) before(e due) bool { return d.at < e.at || d.at == e.at && d.conn < e.conn }

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
