package tcp

import (
	"cmp"
	"slices"

	"weir/wire"
)

// span is a range of the stream in a queue. The state of its pieces may have changed since, and may
// differ.
type span struct {
	first, end wire.Seq
	sentAt     Time // of a retransmission: when it was sent; otherwise 0
}

// spanQueue is a FIFO queue of spans.
type spanQueue struct {
	queued []span
	head   int // index of the first span
}

func (q *spanQueue) empty() bool { return q.head == len(q.queued) }

// front returns the first span of a queue that is not empty.
func (q *spanQueue) front() *span { return &q.queued[q.head] }

// push appends a span. It extends the last span if the new one follows it in the stream and has the
// same time.
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

// nextLost returns the position of the next lost piece to retransmit: the first in the stream of
// both queues.
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

// eachMissing calls do for the pieces of a range that are not SACKed, in order, until do returns
// false.
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

// rebuild calls do for all pieces, and then rebuilds the queues from their states.
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

// markAllLost marks everything in flight as lost; SACKed pieces too, if includeSACKed is set.
func (f *flight) markAllLost(includeSACKed bool) {
	f.rebuild(func(s *piece) {
		if s.state == inFlight || includeSACKed {
			f.setState(s, presumedLost)
		}
	})
}

// clearLost marks all lost pieces as in flight again.
func (f *flight) clearLost() {
	f.rebuild(func(s *piece) {
		if s.state == presumedLost {
			f.setState(s, inFlight)
		}
	})
}

// verdict is what a judge says of a piece by the time when it was sent.
type verdict uint8

const (
	undecided verdict = iota // it was sent after everything delivered: nothing is known
	mayArrive                // it may be reordered and arrive yet
	overdue                  // it is lost
)

// markOverdueLost marks overdue pieces as lost. The judge gets the time when a piece was last sent
// and its end. anyLost reports whether there were some; pending, whether others become overdue
// later. Each piece is judged about once, however often this is called.
func (f *flight) markOverdueLost(judge func(at Time, end wire.Seq) verdict) (anyLost, pending bool) {
	anyLost, pending = f.markOverdueOriginals(judge)
	anyAgain, pendingAgain := f.markOverdueRetransmits(judge)
	return anyLost || anyAgain, pending || pendingAgain
}

// markOverdueOriginals is markOverdueLost for data that was sent once.
func (f *flight) markOverdueOriginals(judge func(at Time, end wire.Seq) verdict) (anyLost, pending bool) {
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
				return anyLost, v == mayArrive
			}
			f.markLost(s)
			anyLost = true
		}
	}
	return anyLost, false
}

// markOverdueRetransmits is markOverdueLost for retransmissions.
func (f *flight) markOverdueRetransmits(judge func(at Time, end wire.Seq) verdict) (anyLost, pending bool) {
	for ; !f.retransmitted.empty(); f.retransmitted.pop() {
		s := *f.retransmitted.front()
		if v := judge(s.sentAt, s.end); v != overdue {
			return anyLost, v == mayArrive
		}
		f.eachMissing(s.first, s.end, func(p piecePos) bool {
			if piece := f.pieceAt(p); piece.state == inFlight && piece.retransmits > 0 && piece.sentAt == s.sentAt {
				f.markLost(piece)
				anyLost = true
			}
			return true
		})
	}
	return anyLost, false
}
