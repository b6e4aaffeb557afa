package flow

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A stage that puts items into its own net must not wait there, since what it waits for may wait for it. Who is calling is
// found out only where a caller would wait: Go tells a goroutine's number at the price of a microsecond.

// insideWait is how long a caller of Put waits before it is asked whether it is a stage.
const insideWait = time.Millisecond

// maxSpilt is how many batches stages may have put beside a full entry.
const maxSpilt = 1 << 16

// enter notes that this goroutine is a worker's.
func (n *Net[T]) enter(o *owner[T]) {
	id := goroutine()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.insides == nil {
		n.insides = make(map[uint64]bool)
	}
	delete(n.insides, o.goroutine) // that a Goexit has ended
	o.goroutine = id
	n.insides[id] = true
}

// leave has a worker be at rest.
func (n *Net[T]) leave(o *owner[T]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.insides, o.goroutine)
	n.rest = append(n.rest, o)
}

// inside reports whether a worker of the net is calling.
func (n *Net[T]) inside() bool {
	id := goroutine()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.insides[id]
}

// goroutine is the number that stack dumps give the calling goroutine.
func goroutine() uint64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("goroutine ")), []byte(" "))
	id, _ := strconv.ParseUint(string(digits), 10, 64)
	return id
}

// spill keeps a parcel beside a full queue. The queue's workers look there before they take from the queue; should they have
// emptied it meanwhile and sleep, what is put into the queue wakes them.
func (o *owner[T]) spill(e *edge[T], full *parcel[T]) bool {
	s := e.to
	s.spillMu.Lock()
	defer s.spillMu.Unlock()
	if len(s.over) >= maxSpilt || ended(o.net.done) {
		return false
	}
	full.spilt = true
	s.over = append(s.over, full)
	s.spilt.Store(int32(len(s.over)))
	if first := s.over[0]; e.places == nil && s.queue.Offer(first) || e.places != nil && o.reserve(e) && s.enqueue(first) {
		s.over = slices.Delete(s.over, 0, 1)
		s.spilt.Store(int32(len(s.over)))
	}
	return true
}

// ended reports whether a channel is closed that carries nothing.
func ended(donec <-chan struct{}) bool {
	select {
	case <-donec:
		return true
	default:
		return false
	}
}

// enqueue puts a parcel into the queue that has a place there now.
func (s *node[T]) enqueue(p *parcel[T]) bool {
	p.spilt = false
	return s.queue.Offer(p)
}

// unspill takes a parcel that was kept beside the queue, nil when there is none.
func (s *node[T]) unspill() *parcel[T] {
	s.spillMu.Lock()
	defer s.spillMu.Unlock()
	if len(s.over) == 0 {
		return nil
	}
	p := s.over[0]
	s.over = slices.Delete(s.over, 0, 1)
	s.spilt.Store(int32(len(s.over)))
	return p
}

// part gives the edges that lead to a stage places of their own, where one of them could starve: with one that does not
// wait, or that leads back, beside another.
func (n *Net[T]) part(s *node[T]) {
	var into []*edge[T]
	starves := false
	for _, e := range n.edges {
		if e.to == s {
			into = append(into, e)
			starves = starves || e.Full != Wait || n.reaches(s, e, map[*node[T]]bool{})
		}
	}
	if len(into) < 2 || !starves {
		return
	}
	for _, e := range into {
		e.places = make(chan struct{}, e.Cap)
	}
}

// reaches reports whether a path leads from a stage over an edge.
func (n *Net[T]) reaches(s *node[T], over *edge[T], seen map[*node[T]]bool) bool {
	if seen[s] {
		return false
	}
	seen[s] = true
	return slices.ContainsFunc(s.ports, func(e *edge[T]) bool { return e != nil && (e == over || n.reaches(e.to, over, seen)) })
}

// nestedWait is how long a call waits for a seat inside another call of a limited stage.
const nestedWait = time.Second

// sit takes one of a stage's seats, or says why there is none. Inside another call of a limited stage it does not wait for ever: that may
// be this one's, which would wait for itself, or another net's, which will go on.
func (n *Net[T]) sit(seats chan struct{}) error {
	select {
	case seats <- struct{}{}:
		return nil
	default:
	}
	var latec <-chan time.Time // nil: not nested
	if nested() {
		late := time.NewTimer(nestedWait)
		defer late.Stop()
		latec = late.C
	}
	select {
	case seats <- struct{}{}:
		return nil
	case <-latec:
		return ErrFull
	case <-n.done:
		return ErrStopped
	}
}

// nested reports whether this goroutine is in a Put that a limited stage has called. The net may be another, of a type of the same shape.
func nested() bool {
	callers := make([]uintptr, 256)
	n := runtime.Callers(2, callers) // from sit on
	for n == len(callers) {
		callers = make([]uintptr, 2*n)
		n = runtime.Callers(2, callers)
	}
	frames := runtime.CallersFrames(callers[:n])
	var limited, put uintptr
	for {
		f, more := frames.Next()
		switch {
		case strings.HasSuffix(f.Function, "flow.(*Net[...]).Put"):
			put = f.Entry
		case !strings.HasSuffix(f.Function, ".limited.func1"):
		case limited == 0:
			limited = f.Entry
		case f.Entry == limited && put != 0:
			return true
		}
		if !more {
			return false
		}
	}
}
