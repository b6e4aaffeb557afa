package tcp

import (
	"cmp"
	"slices"

	"weir/wire"
)

// span is a piece of the stream in a queue. What has become of it since may differ, and from part
// to part.
type span struct {
	first, end wire.Seq
	at         Time // when it was sent, of one that was sent again
}

// spans is a queue of them.
type spans struct {
	all  []span
	head int
}

func (q *spans) empty() bool { return q.head == len(q.all) }

// front is the next one; only when there is one.
func (q *spans) front() *span { return &q.all[q.head] }

// push puts one behind the others; what follows the last in the stream, and is of the same time,
// becomes a part of that.
func (q *spans) push(s span) {
	if !q.empty() {
		if last := &q.all[len(q.all)-1]; last.end == s.first && last.at == s.at {
			last.end = s.end
			return
		}
	}
	if q.head > 64 && q.head > len(q.all)/2 {
		q.all, q.head = q.all[:copy(q.all, q.all[q.head:])], 0
	}
	q.all = append(q.all, s)
}

func (q *spans) pop() {
	if q.head++; q.empty() {
		*q = spans{}
	}
}

// nextLost is the place of the lost piece to be sent again next: the first of the stream, but for
// those that are lost once more, which stand in a queue of their own.
func (f *flight) nextLost() (at place, ok bool) {
	for {
		q := &f.missed[0]
		if again := &f.missed[1]; q.empty() || !again.empty() && again.front().first.Less(q.front().first) {
			q = again
		}
		if q.empty() {
			return at, false
		}
		s := q.front()
		f.within(s.first, s.end, func(p place) bool {
			at, ok = p, f.piece(p).state == lost
			return !ok
		})
		if ok {
			s.first = f.piece(at).seq
			return at, true
		}
		q.pop()
	}
}

// within calls do for the pieces of a part of the stream that the peer does not have, in their
// order, as long as it says so.
func (f *flight) within(first, end wire.Seq, do func(place) bool) {
	for i := f.slotAt(first); i < len(f.slots) && f.slots[i].seq.Less(end); i++ {
		if f.slots[i].whole() {
			i = f.past(i) - 1
			continue
		}
		for p := (place{i, 0}); p.part < f.parts(i); p.part++ {
			if s := f.piece(p); first.Less(s.end) && s.seq.Less(end) && !do(p) {
				return
			}
		}
	}
}

// eachPiece calls do for all pieces. What it makes of them is sorted anew.
func (f *flight) eachPiece(do func(*sent)) {
	f.fresh, f.resent, f.missed = f.first, spans{}, [2]spans{}
	for i := f.first; i < len(f.slots); i++ {
		f.slots[i].leap = 0
		for p := (place{i, 0}); p.part < f.parts(i); p.part++ {
			s := f.piece(p)
			do(s)
			switch {
			case s.state == lost:
				f.missed[0].push(span{s.seq, s.end, 0})
			case s.state == underWay && s.again > 0:
				f.resent.push(span{s.seq, s.end, s.at})
			}
		}
	}
	slices.SortStableFunc(f.resent.all, func(a, b span) int { return cmp.Compare(a.at, b.at) })
}

// loseAll has all that is not known to have come be lost; with told, what the peer told of too.
func (f *flight) loseAll(told bool) {
	f.eachPiece(func(s *sent) {
		if s.state == underWay || told {
			f.mark(s, lost)
		}
	})
}

// findAll has nothing be lost.
func (f *flight) findAll() {
	f.eachPiece(func(s *sent) {
		if s.state == lost {
			f.mark(s, underWay)
		}
	})
}

// verdict is what is known of a piece by the time when it was sent.
type verdict uint8

const (
	sentLater verdict = iota // than all that was delivered: nothing
	early                    // it may still come
	overdue                  // it is lost
)

// loseOverdue marks what is lost, by a judge of when it was sent last and where it ends, and
// reports whether any is, and whether any may be soon. Each of what was sent is looked at about
// once, however often this is called.
func (f *flight) loseOverdue(judge func(at Time, end wire.Seq) verdict) (any, soon bool) {
	any, soon = f.loseFresh(judge)
	again, soonAgain := f.loseResent(judge)
	return any || again, soon || soonAgain
}

// loseFresh is loseOverdue for what was sent once.
func (f *flight) loseFresh(judge func(at Time, end wire.Seq) verdict) (any, soon bool) {
	for ; f.fresh < len(f.slots); f.fresh++ {
		if f.slots[f.fresh].whole() {
			f.fresh = f.past(f.fresh) - 1
			continue
		}
		for p := (place{f.fresh, 0}); p.part < f.parts(f.fresh); p.part++ {
			s := f.piece(p)
			if s.state != underWay || s.again > 0 {
				continue
			}
			if v := judge(s.at, s.end); v != overdue {
				return any, v == early
			}
			f.lose(s)
			any = true
		}
	}
	return any, false
}

// loseResent is loseOverdue for what was sent again.
func (f *flight) loseResent(judge func(at Time, end wire.Seq) verdict) (any, soon bool) {
	for ; !f.resent.empty(); f.resent.pop() {
		s := *f.resent.front()
		if v := judge(s.at, s.end); v != overdue {
			return any, v == early
		}
		f.within(s.first, s.end, func(p place) bool {
			if piece := f.piece(p); piece.state == underWay && piece.again > 0 && piece.at == s.at {
				f.lose(piece)
				any = true
			}
			return true
		})
	}
	return any, false
}
