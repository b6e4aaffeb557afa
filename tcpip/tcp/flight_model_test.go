package tcp

import (
	"math/rand/v2"
	"testing"
	"time"

	"weir/wire"
)

// A flight keeps counts and queues so that no search scans all data in flight. After any sequence
// of sending, SACK, loss and retransmission they agree with a scan of all pieces. The words:
//
//   - a slot is what one call sent for the first time, up to 40 segments here;
//   - a piece is a part of a slot whose segments have the same state;
//   - a span is a range of sequence numbers with a send time; a spanQueue holds lost or
//     retransmitted data as spans. A span may cover several pieces, and also data that has since
//     been acknowledged.
func TestFlightAgreesWithAScanOfAllPieces(t *testing.T) {
	for seed := range uint64(200) {
		w := newFlightWorld(seed)
		for step := range 300 {
			w.step()
			if fault := w.fault(); fault != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, fault)
			}
		}
	}
}

// flightWorld is a flight on which step performs random operations. It starts below the point where
// sequence numbers wrap around.
type flightWorld struct {
	flight
	r         *rand.Rand
	una, nxt  wire.Seq // SND.UNA, SND.NXT
	now       Time
	delivered int // bytes that onDelivered reported for the first time
}

func newFlightWorld(seed uint64) *flightWorld {
	return &flightWorld{r: rand.New(rand.NewPCG(seed, 1)), una: ourISS, nxt: ourISS, now: Time(time.Hour)}
}

// step performs one random operation. The flight must call onDelivered once for each byte that the
// peer has received, when a SACK or an acknowledgment first reports it. A piece that a SACK
// reported is passed again when it is acknowledged, in state sackedByPeer.
func (w *flightWorld) step() {
	w.now = w.now.Add(time.Duration(w.r.IntN(3)) * time.Millisecond)
	onDelivered := func(s *piece) {
		if s.state != sackedByPeer {
			w.delivered += s.len()
		}
	}
	switch w.r.IntN(9) {
	case 0, 1, 2: // a superframe, of up to 40 segments
		n := 1 + w.r.IntN(40_000)
		w.push(piece{seq: w.nxt, end: w.nxt.Add(n), sentAt: w.now, segmentSize: 1000})
		w.nxt = w.nxt.Add(n)
	case 3, 4:
		w.sack(w.block(), onDelivered)
	case 5:
		if n := w.nxt.Sub(w.una); n > 0 {
			una := w.una.Add(1 + w.r.IntN(n)/(1+w.r.IntN(4)))
			w.acknowledge(una, onDelivered)
			w.una = una
		}
	case 6:
		limit := w.now.Add(-time.Duration(w.r.IntN(30)) * time.Millisecond)
		w.markOverdueLost(func(at Time, _ wire.Seq) verdict {
			if at < limit {
				return overdue
			}
			return undecided
		})
	case 7:
		for range w.r.IntN(5) {
			w.resendNext()
		}
	case 8:
		switch w.r.IntN(20) {
		case 0:
			reneged := w.r.IntN(4) == 0
			if reneged { // the peer discards SACKed data
				w.delivered -= w.sackedBytes
			}
			w.markAllLost(reneged)
		case 1:
			w.clearLost()
		}
	}
}

// block returns a random SACK block within the data in flight. It may start or end within a
// segment.
func (w *flightWorld) block() wire.Block {
	n := max(1, w.nxt.Sub(w.una))
	b := wire.Block{First: w.una.Add(w.r.IntN(n))}
	b.End = b.First.Add(1 + w.r.IntN(max(1, w.nxt.Sub(b.First))))
	return b
}

// resendNext retransmits the next lost piece, at most 2000 bytes of it.
func (w *flightWorld) resendNext() {
	at, ok := w.nextLost()
	if !ok {
		return
	}
	if p := w.pieceAt(at); p.len() > 2000 {
		w.splitPiece(at, p.seq.Add(2000))
	}
	w.markRetransmitted(w.pieceAt(at), 1000, w.now)
}

// fault describes the first disagreement between the flight and a scan of its pieces; empty: none.
func (w *flightWorld) fault() string {
	var bytes, sacked, lost int
	next := w.una
	for i := w.firstSlot; i < len(w.slots); i++ {
		if w.slots[i].seq != next {
			return "slots do not follow one another"
		}
		for p := (piecePos{i, 0}); p.index < w.pieceCount(i); p.index++ {
			s := w.pieceAt(p)
			if s.seq != next || s.len() <= 0 {
				return "pieces do not follow one another"
			}
			next = s.end
			bytes += s.len()
			switch {
			case s.state == sackedByPeer:
				sacked += s.len()
			case s.state == presumedLost && !covered(&w.lostQueues[0], s, 0) && !covered(&w.lostQueues[1], s, 0):
				return "a lost piece is in no queue"
			case s.state == presumedLost:
				lost += s.len()
			case s.retransmits == 0 && i < w.firstUndecided:
				return "a piece in flight, sent once, is before firstUndecided"
			case s.retransmits > 0 && !covered(&w.retransmitted, s, s.sentAt):
				return "a retransmitted piece is in no queue"
			}
		}
		if w.slots[i].end != next {
			return "a slot does not end where its pieces do"
		}
	}
	switch {
	case next != w.nxt:
		return "the last slot does not end at SND.NXT"
	case bytes != w.totalBytes || sacked != w.sackedBytes || lost != w.lostBytes:
		return "the counts are not those of the pieces"
	case w.delivered != w.una.Sub(ourISS)+sacked:
		return "onDelivered was not called exactly once for each delivered byte"
	}
	return ""
}

// covered reports whether the spans of q that were sent at the given time cover a piece; time 0
// means all spans.
func covered(q *spanQueue, s *piece, at Time) bool {
	from := s.seq
	for _, x := range q.queued[q.head:] {
		if (at == 0 || x.sentAt == at) && x.first.LessEq(from) && from.Less(x.end) {
			from = x.end
		}
	}
	if s.end.LessEq(from) {
		return true
	}
	for _, x := range q.queued[q.head:] { // a second pass for spans out of order
		if (at == 0 || x.sentAt == at) && x.first.LessEq(from) && from.Less(x.end) {
			from = x.end
		}
	}
	return s.end.LessEq(from)
}
