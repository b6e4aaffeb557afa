package tcp

import (
	"slices"

	"weir/wire"
)

// sent is a piece of the stream that is under way: as it was sent last, so perhaps of many segments
// of the wire.
type piece struct {
	seq, end    wire.Seq
	sentAt      Time   // when it was sent last
	segmentSize uint16 // payload of its segments; the last one may have less
	retransmits uint8  // how often it was sent again, up to 255
	state       pieceState
}

// pieceState is what is known of a piece.
type pieceState uint8

const (
	inFlight     pieceState = iota // nothing
	sackedByPeer                   // the peer has it, behind a gap
	presumedLost                   // it has to be sent again
)

func (s *piece) len() int { return s.end.Sub(s.seq) }

// segments gives those segments of the piece that lie in a block whole: from the first one's start
// to the last one's end. What lies in it in part does not count: who has received a part of a
// segment has not received a segment of ours.
func (s *piece) segments(b wire.Block) (first, end wire.Seq) {
	first, end = s.seq, s.end
	size := max(int(s.segmentSize), 1)
	if ahead := b.First.Sub(s.seq); ahead > 0 {
		first = s.seq.Add((ahead + size - 1) / size * size)
	}
	if b.End.Less(s.end) {
		end = s.seq.Add(b.End.Sub(s.seq) / size * size)
	}
	return first, end
}

// flight is what is under way. Its bytes are counted by what is known of them; SYN and FIN count as
// one each.
//
// A slot is what was sent at once, for the first time; slots stand in the order of the stream,
// which is the order of time too. A slot of which not all is alike has parts, no more of them than
// segments. What is looked for is found without looking at all: what is lost by the order of time,
// of what was sent once from the slot fresh on, and of what was sent again in a queue; what is to
// be sent again in two queues, each in its order; and slots that the peer has whole are leapt over.
type flight struct {
	slots                              []slot
	pieceLists                         [][]piece // the parts of slots that have some; nil: free
	freeLists                          []int32   // of cuts: which are
	firstSlot                          int       // of slots that is still there; what is before it was acknowledged
	totalBytes, sackedBytes, lostBytes int

	firstUndecided int          // in slots before it, what was sent once is lost, or there
	retransmitted  spanQueue    // what was sent again, by the time of that
	lostQueues     [2]spanQueue // what is lost: of what was sent once, and of what was sent again
}

// slot is what was sent at once.
type slot struct {
	piece
	// of one that the peer has whole: so many slots further on is the next that may not be so
	skip int32
	// one more than where its parts are in cuts; 0: it is all alike. An index, so that slots are
	// nothing to the collector
	pieceList int32
}

// whole reports whether the peer has all of it.
func (s *slot) allSACKed() bool { return s.pieceList == 0 && s.state == sackedByPeer }

// place is one of a slot's pieces.
type piecePos struct{ slot, index int }

// piece is the piece at a place.
func (f *flight) pieceAt(p piecePos) *piece {
	if s := &f.slots[p.slot]; s.pieceList > 0 {
		return &f.pieceLists[s.pieceList-1][p.index]
	}
	return &f.slots[p.slot].piece
}

func (f *flight) empty() bool { return f.firstSlot == len(f.slots) }

// sends is how many slots are under way.
func (f *flight) slotCount() int { return len(f.slots) - f.firstSlot }

// pipe is how many bytes are in the network, as far as is known (RFC 6675, section 4). A lost piece
// that was sent again is under way again.
func (f *flight) pipe() int { return f.totalBytes - f.sackedBytes - f.lostBytes }

// full reports whether there are too many slots to take more. A peer that takes tiny segments does
// not have one kept of each byte of a large window.
func (f *flight) atSlotLimit() bool {
	return f.slotCount() >= maxSlots && f.totalBytes < f.slotCount()*minMeanSlotBytes
}

const (
	maxSlots         = 4096 // tiny ones under way at once
	minMeanSlotBytes = 512  // bytes that they have at most, on average
	idleSlotCap      = 4    // that an idle connection keeps room for
	minSlotGrowth    = 28   // that there is room for at once when these are too few
)

// push notes a piece that is sent for the first time.
func (f *flight) push(s piece) {
	if f.firstSlot > 64 && f.firstSlot > len(f.slots)/2 {
		f.slots = f.slots[:copy(f.slots, f.slots[f.firstSlot:])]
		f.firstUndecided, f.firstSlot = max(0, f.firstUndecided-f.firstSlot), 0
	}
	if n := len(f.slots); n == cap(f.slots) && n >= idleSlotCap {
		f.slots = slices.Grow(f.slots, max(n, minSlotGrowth))
	}
	f.slots = append(f.slots, slot{piece: s})
	f.addToCounts(&s, 1)
}

// count adds a piece to the counts, or, with sign -1, takes it off.
func (f *flight) addToCounts(s *piece, sign int) {
	n := sign * s.len()
	f.totalBytes += n
	switch s.state {
	case sackedByPeer:
		f.sackedBytes += n
	case presumedLost:
		f.lostBytes += n
	}
}

// mark changes what is known of a piece.
func (f *flight) setState(s *piece, to pieceState) {
	f.addToCounts(s, -1)
	s.state = to
	f.addToCounts(s, 1)
}

// lose notes that a piece is lost.
func (f *flight) markLost(s *piece) {
	f.setState(s, presumedLost)
	f.lostQueues[min(s.retransmits, 1)].push(span{s.seq, s.end, 0})
}

// sentAgain notes that a piece was sent once more, in segments of a size.
func (f *flight) markRetransmitted(s *piece, size int, now Time) {
	f.setState(s, inFlight)
	s.sentAt, s.segmentSize = now, uint16(size)
	if s.retransmits < 255 {
		s.retransmits++
	}
	f.retransmitted.push(span{s.seq, s.end, now})
}

// split cuts the piece at a place into two; the first is at the place then.
func (f *flight) splitPiece(p piecePos, at wire.Seq) {
	s := &f.slots[p.slot]
	if s.pieceList == 0 {
		f.makePieces(s)
	}
	parts := &f.pieceLists[s.pieceList-1]
	*parts = slices.Insert(*parts, p.index+1, (*parts)[p.index])
	(*parts)[p.index].end, (*parts)[p.index+1].seq = at, at
}

// divide gives a slot parts, one as yet.
func (f *flight) makePieces(s *slot) {
	if n := len(f.freeLists); n > 0 {
		s.pieceList, f.freeLists = f.freeLists[n-1], f.freeLists[:n-1]
	} else {
		f.pieceLists = append(f.pieceLists, nil)
		s.pieceList = int32(len(f.pieceLists))
	}
	f.pieceLists[s.pieceList-1] = []piece{s.piece}
}

// unite has a slot have no parts.
func (f *flight) dropPieces(s *slot) {
	f.pieceLists[s.pieceList-1] = nil
	f.freeLists = append(f.freeLists, s.pieceList)
	s.pieceList = 0
}

// acknowledge takes off what lies before una, telling of each piece before it goes.
func (f *flight) acknowledge(una wire.Seq, tell func(*piece)) {
	for ; !f.empty() && f.slots[f.firstSlot].seq.Less(una); f.firstSlot++ {
		s := &f.slots[f.firstSlot]
		if s.pieceList > 0 {
			parts := &f.pieceLists[s.pieceList-1]
			for len(*parts) > 0 && (*parts)[0].end.LessEq(una) {
				f.remove(&(*parts)[0], tell)
				*parts = (*parts)[1:]
			}
		}
		if una.Less(s.end) {
			f.trimSlot(s, una, tell)
			return
		}
		if s.pieceList > 0 {
			f.dropPieces(s)
			continue
		}
		f.remove(&s.piece, tell)
	}
	f.firstUndecided = max(f.firstUndecided, f.firstSlot)
	if !f.empty() {
		return
	}
	f.slots, f.firstSlot, f.firstUndecided = f.slots[:0], 0, 0
	if f.pieceLists != nil || f.retransmitted.queued != nil || f.lostQueues[0].queued != nil || f.lostQueues[1].queued != nil {
		f.pieceLists, f.freeLists, f.retransmitted, f.lostQueues = nil, nil, spanQueue{}, [2]spanQueue{}
	}
	if cap(f.slots) > idleSlotCap {
		f.slots = nil
	}
}

// trim takes off what lies before una of a slot that it lies in.
func (f *flight) trimSlot(s *slot, una wire.Seq, tell func(*piece)) {
	p := &s.piece
	if s.pieceList > 0 {
		p = &f.pieceLists[s.pieceList-1][0]
	}
	if before := *p; before.seq.Less(una) {
		before.end = una
		f.remove(&before, tell)
		p.seq = una
	}
	s.seq = una
	f.firstUndecided = max(f.firstUndecided, f.firstSlot)
}

func (f *flight) remove(s *piece, tell func(*piece)) {
	tell(s)
	f.addToCounts(s, -1)
}

// slotAt is the first slot that ends behind a place in the stream.
func (f *flight) findSlot(at wire.Seq) int {
	i, _ := slices.BinarySearchFunc(f.slots[f.firstSlot:], at, func(s slot, at wire.Seq) int { return s.end.Sub(at.Add(1)) })
	return f.firstSlot + i
}

// past is the first slot from i on that the peer does not have whole. Those that it has are leapt
// over from then on.
func (f *flight) skipSACKed(i int) int {
	to := i
	for to < len(f.slots) && f.slots[to].allSACKed() {
		to += max(1, int(f.slots[to].skip))
	}
	for i < to {
		next := i + max(1, int(f.slots[i].skip))
		f.slots[i].skip = int32(to - i)
		i = next
	}
	return to
}

// sack marks what lies in a block as there, telling of each piece before it is marked.
func (f *flight) sack(b wire.Block, tell func(*piece)) {
	for i := f.findSlot(b.First); i < len(f.slots) && f.slots[i].seq.Less(b.End); i++ {
		if f.slots[i].allSACKed() {
			i = f.skipSACKed(i) - 1
			continue
		}
		f.sackSlot(i, b, tell)
	}
}

// sackSlot marks what lies in a block of one slot.
func (f *flight) sackSlot(i int, b wire.Block, tell func(*piece)) {
	s := &f.slots[i]
	for at := (piecePos{i, 0}); at.index < f.pieceCount(i); at.index++ {
		p := f.pieceAt(at)
		first, end := p.segments(b)
		if p.state == sackedByPeer || end.LessEq(first) {
			continue
		}
		if p.seq != first {
			f.splitPiece(at, first)
			at.index++
		}
		if f.pieceAt(at).end != end {
			f.splitPiece(at, end)
		}
		tell(f.pieceAt(at))
		f.setState(f.pieceAt(at), sackedByPeer)
	}
	if s.pieceList > 0 {
		f.mergeSACKed(s)
	}
}

// parts is how many pieces a slot is of.
func (f *flight) pieceCount(i int) int {
	if s := &f.slots[i]; s.pieceList > 0 {
		return len(f.pieceLists[s.pieceList-1])
	}
	return 1
}

// join makes one of parts that touch and that the peer has.
func (f *flight) mergeSACKed(s *slot) {
	parts := f.pieceLists[s.pieceList-1]
	all := parts[:1]
	for _, p := range parts[1:] {
		if last := &all[len(all)-1]; last.state == sackedByPeer && p.state == sackedByPeer {
			last.end = p.end
			continue
		}
		all = append(all, p)
	}
	if f.pieceLists[s.pieceList-1] = all; len(all) == 1 {
		s.piece = all[0]
		f.dropPieces(s)
	}
}
