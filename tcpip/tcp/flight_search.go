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
	sentAt     Time // when it was sent, of one that was sent again
}

// spans is a queue of them.
type spanQueue struct {
	queued []span
	head   int
}

func (q *spanQueue) empty() bool { return q.head == len(q.queued) }

// front is the next one; only when there is one.
func (q *spanQueue) front() *span { return &q.queued[q.head] }

// push puts one behind the others; what follows the last in the stream, and is of the same time,
// becomes a part of that.
func (q *spanQueue) push(s span) {
	if !q.empty() {
		if last := &q.queued[len(q.queued)-1]; last.end == s.first && last.sentAt == s.sentAt {
			last.end = s.end
			return
		}
	}
	if q.head > 64 && q.head > len(q.queued)/2 {
		q.queued, q.head = q.queued[:copy(q.queued, q.queued[q.head:])], 0
	}
	q.queued = append(q.queued, s)
}

func (q *spanQueue) pop() {
	if q.head++; q.empty() {
		*q = spanQueue{}
	}
}

// nextLost is the place of the lost piece to be sent again next: the first of the stream, but for
// those that are lost once more, which stand in a queue of their own.
func (f *flight) nextLost() (at piecePos, ok bool) {
	for {
		q := &f.lostQueues[0]
		if again := &f.lostQueues[1]; q.empty() || !again.empty() && again.front().first.Less(q.front().first) {
			q = again
		}
		if q.empty() {
			return at, false
		}
		s := q.front()
		f.eachMissing(s.first, s.end, func(p piecePos) bool {
			at, ok = p, f.pieceAt(p).state == presumedLost
			return !ok
		})
		if ok {
			s.first = f.pieceAt(at).seq
			return at, true
		}
		q.pop()
	}
}

// within calls do for the pieces of a part of the stream that the peer does not have, in their
// order, as long as it says so.
func (f *flight) eachMissing(first, end wire.Seq, do func(piecePos) bool) {
	for i := f.findSlot(first); i < len(f.slots) && f.slots[i].seq.Less(end); i++ {
		if f.slots[i].allSACKed() {
			i = f.skipSACKed(i) - 1
			continue
		}
		for p := (piecePos{i, 0}); p.index < f.pieceCount(i); p.index++ {
			if s := f.pieceAt(p); first.Less(s.end) && s.seq.Less(end) && !do(p) {
				return
			}
		}
	}
}

// eachPiece calls do for all pieces. What it makes of them is sorted anew.
func (f *flight) rebuild(do func(*piece)) {
	f.firstUndecided, f.retransmitted, f.lostQueues = f.firstSlot, spanQueue{}, [2]spanQueue{}
	for i := f.firstSlot; i < len(f.slots); i++ {
		f.slots[i].skip = 0
		for p := (piecePos{i, 0}); p.index < f.pieceCount(i); p.index++ {
			s := f.pieceAt(p)
			do(s)
			switch {
			case s.state == presumedLost:
				f.lostQueues[0].push(span{s.seq, s.end, 0})
			case s.state == inFlight && s.retransmits > 0:
				f.retransmitted.push(span{s.seq, s.end, s.sentAt})
			}
		}
	}
	slices.SortStableFunc(f.retransmitted.queued, func(a, b span) int { return cmp.Compare(a.sentAt, b.sentAt) })
}

// loseAll has all that is not known to have come be lost; with told, what the peer told of too.
func (f *flight) markAllLost(told bool) {
	f.rebuild(func(s *piece) {
		if s.state == inFlight || told {
			f.setState(s, presumedLost)
		}
	})
}

// findAll has nothing be lost.
func (f *flight) clearLost() {
	f.rebuild(func(s *piece) {
		if s.state == presumedLost {
			f.setState(s, inFlight)
		}
	})
}

// verdict is what is known of a piece by the time when it was sent.
type verdict uint8

const (
	undecided verdict = iota // than all that was delivered: nothing
	mayArrive                // it may still come
	overdue                  // it is lost
)

// loseOverdue marks what is lost, by a judge of when it was sent last and where it ends, and
// reports whether any is, and whether any may be soon. Each of what was sent is looked at about
// once, however often this is called.
func (f *flight) markOverdueLost(judge func(at Time, end wire.Seq) verdict) (any, soon bool) {
	any, soon = f.markOverdueOriginals(judge)
	again, soonAgain := f.markOverdueRetransmits(judge)
	return any || again, soon || soonAgain
}

// loseFresh is loseOverdue for what was sent once.
func (f *flight) markOverdueOriginals(judge func(at Time, end wire.Seq) verdict) (any, soon bool) {
	for ; f.firstUndecided < len(f.slots); f.firstUndecided++ {
		if f.slots[f.firstUndecided].allSACKed() {
			f.firstUndecided = f.skipSACKed(f.firstUndecided) - 1
			continue
		}
		for p := (piecePos{f.firstUndecided, 0}); p.index < f.pieceCount(f.firstUndecided); p.index++ {
			s := f.pieceAt(p)
			if s.state != inFlight || s.retransmits > 0 {
				continue
			}
			if v := judge(s.sentAt, s.end); v != overdue {
				return any, v == mayArrive
			}
			f.markLost(s)
			any = true
		}
	}
	return any, false
}

// loseResent is loseOverdue for what was sent again.
func (f *flight) markOverdueRetransmits(judge func(at Time, end wire.Seq) verdict) (any, soon bool) {
	for ; !f.retransmitted.empty(); f.retransmitted.pop() {
		s := *f.retransmitted.front()
		if v := judge(s.sentAt, s.end); v != overdue {
			return any, v == mayArrive
		}
		f.eachMissing(s.first, s.end, func(p piecePos) bool {
			if piece := f.pieceAt(p); piece.state == inFlight && piece.retransmits > 0 && piece.sentAt == s.sentAt {
				f.markLost(piece)
				any = true
			}
			return true
		})
	}
	return any, false
}
