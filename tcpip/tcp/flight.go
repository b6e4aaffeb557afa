package tcp

import (
	"slices"

	"weir/wire"
)

// piece is a range of the stream in flight, as it was last sent: of one or several segments of the
// wire.
type piece struct {
	seq, end    wire.Seq
	sentAt      Time   // when it was last sent
	segmentSize uint16 // payload of its segments; the last one may be shorter
	retransmits uint8  // how often it was retransmitted, at most 255
	state       pieceState
}

// pieceState is what is known of a piece.
type pieceState uint8

const (
	inFlight     pieceState = iota // not acknowledged
	sackedByPeer                   // the peer has it, beyond a gap
	presumedLost                   // it must be retransmitted
)

func (s *piece) len() int { return s.end.Sub(s.seq) }

// segments returns the range of the piece's whole segments that lie in a block. A segment that lies
// in it only in part does not count: the peer has not received it whole.
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

// flight is the data in flight: sent and not acknowledged. It counts bytes by their state; SYN and
// FIN count as one each.
//
// A slot is what one call sent for the first time. Slots are in sequence order, which is also the
// order of time. A slot whose segments differ in state has a list of pieces, at most one for each
// segment.
//
// No search scans the whole flight. Overdue data is found by time: originals from the slot
// firstUndecided on, retransmissions in a queue. Lost data waits in two queues, each in sequence
// order. Slots that are entirely SACKed are skipped.
type flight struct {
	slots      []slot
	pieceLists [][]piece // the lists of slots that have one; nil: unused
	freeLists  []int32   // unused elements of pieceLists, as their index plus one
	firstSlot  int       // index of the first slot that is not acknowledged

	totalBytes, sackedBytes, lostBytes int

	// firstUndecided is a slot; all originals before it are lost or SACKed.
	firstUndecided int
	retransmitted  spanQueue    // retransmissions, by time
	lostQueues     [2]spanQueue // lost data: sent once; retransmitted and lost again
}

// slot is what one call sent for the first time.
type slot struct {
	piece // all of it, if it has no list of pieces
	// skip is, for an entirely SACKed slot, how many slots further the search continues.
	skip int32
	// pieceList is the index of its pieces in pieceLists plus one; 0: its segments do not differ.
	// It is an index because a pointer would make the garbage collector scan all slots.
	pieceList int32
}

// allSACKed reports whether the peer has the whole slot.
func (s *slot) allSACKed() bool { return s.pieceList == 0 && s.state == sackedByPeer }

// piecePos is the position of a piece.
type piecePos struct{ slot, index int }

// pieceAt returns the piece at a position.
func (f *flight) pieceAt(p piecePos) *piece {
	if s := &f.slots[p.slot]; s.pieceList > 0 {
		return &f.pieceLists[s.pieceList-1][p.index]
	}
	return &f.slots[p.slot].piece
}

func (f *flight) empty() bool { return f.firstSlot == len(f.slots) }

// slotCount is the number of slots in flight.
func (f *flight) slotCount() int { return len(f.slots) - f.firstSlot }

// pipe is the estimate of how many bytes are in the network (RFC 6675, section 4). A retransmitted
// piece counts again.
func (f *flight) pipe() int { return f.totalBytes - f.sackedBytes - f.lostBytes }

// atSlotLimit reports whether no more slots fit. Otherwise a peer with a tiny MSS could make this
// end keep a record of each byte of a large window.
func (f *flight) atSlotLimit() bool {
	return f.slotCount() >= maxSlots && f.totalBytes < f.slotCount()*minMeanSlotBytes
}

const (
	maxSlots         = 4096 // slots in flight, if they are tiny
	minMeanSlotBytes = 512  // mean size below which slots count as tiny, in bytes
	idleSlotCap      = 4    // capacity of slots that an idle connection keeps
	minSlotGrowth    = 28   // by how much the capacity grows beyond that at least
)

// push appends data that is sent for the first time.
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

// addToCounts adds a piece to the byte counts; with sign -1 it subtracts it.
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

// setState changes the state of a piece.
func (f *flight) setState(s *piece, to pieceState) {
	f.addToCounts(s, -1)
	s.state = to
	f.addToCounts(s, 1)
}

// markLost marks a piece as lost and queues it for retransmission.
func (f *flight) markLost(s *piece) {
	f.setState(s, presumedLost)
	f.lostQueues[min(s.retransmits, 1)].push(span{s.seq, s.end, 0})
}

// markRetransmitted records the retransmission of a piece in segments of size bytes.
func (f *flight) markRetransmitted(s *piece, size int, now Time) {
	f.setState(s, inFlight)
	s.sentAt, s.segmentSize = now, uint16(size)
	if s.retransmits < 255 {
		s.retransmits++
	}
	f.retransmitted.push(span{s.seq, s.end, now})
}

// splitPiece splits the piece at a position in two; the position is that of the first part
// afterwards.
func (f *flight) splitPiece(p piecePos, at wire.Seq) {
	s := &f.slots[p.slot]
	if s.pieceList == 0 {
		f.makePieces(s)
	}
	pieces := &f.pieceLists[s.pieceList-1]
	*pieces = slices.Insert(*pieces, p.index+1, (*pieces)[p.index])
	(*pieces)[p.index].end, (*pieces)[p.index+1].seq = at, at
}

// makePieces gives a slot a list of pieces, with one piece.
func (f *flight) makePieces(s *slot) {
	if n := len(f.freeLists); n > 0 {
		s.pieceList, f.freeLists = f.freeLists[n-1], f.freeLists[:n-1]
	} else {
		f.pieceLists = append(f.pieceLists, nil)
		s.pieceList = int32(len(f.pieceLists))
	}
	f.pieceLists[s.pieceList-1] = []piece{s.piece}
}

// dropPieces removes a slot's list of pieces.
func (f *flight) dropPieces(s *slot) {
	f.pieceLists[s.pieceList-1] = nil
	f.freeLists = append(f.freeLists, s.pieceList)
	s.pieceList = 0
}

// acknowledge removes the data before una. It calls onDelivered for each piece before removing it.
func (f *flight) acknowledge(una wire.Seq, onDelivered func(*piece)) {
	for ; !f.empty() && f.slots[f.firstSlot].seq.Less(una); f.firstSlot++ {
		s := &f.slots[f.firstSlot]
		if s.pieceList > 0 {
			pieces := &f.pieceLists[s.pieceList-1]
			for len(*pieces) > 0 && (*pieces)[0].end.LessEq(una) {
				f.remove(&(*pieces)[0], onDelivered)
				*pieces = (*pieces)[1:]
			}
		}
		if una.Less(s.end) {
			f.trimSlot(s, una, onDelivered)
			return
		}
		if s.pieceList > 0 {
			f.dropPieces(s)
			continue
		}
		f.remove(&s.piece, onDelivered)
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

// trimSlot removes the data before una from a slot that contains una.
func (f *flight) trimSlot(s *slot, una wire.Seq, onDelivered func(*piece)) {
	p := &s.piece
	if s.pieceList > 0 {
		p = &f.pieceLists[s.pieceList-1][0]
	}
	if before := *p; before.seq.Less(una) {
		before.end = una
		f.remove(&before, onDelivered)
		p.seq = una
	}
	s.seq = una
	f.firstUndecided = max(f.firstUndecided, f.firstSlot)
}

// remove removes a piece from the counts after calling onDelivered.
func (f *flight) remove(s *piece, onDelivered func(*piece)) {
	onDelivered(s)
	f.addToCounts(s, -1)
}

// findSlot returns the index of the first slot that ends after seq.
func (f *flight) findSlot(seq wire.Seq) int {
	i, _ := slices.BinarySearchFunc(f.slots[f.firstSlot:], seq, func(s slot, seq wire.Seq) int { return s.end.Sub(seq.Add(1)) })
	return f.firstSlot + i
}

// skipSACKed returns the index of the first slot from i on that is not entirely SACKed. It shortens
// the path for later searches.
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

// sack marks the segments in a block as SACKed. It calls onDelivered for each piece before.
func (f *flight) sack(b wire.Block, onDelivered func(*piece)) {
	for i := f.findSlot(b.First); i < len(f.slots) && f.slots[i].seq.Less(b.End); i++ {
		if f.slots[i].allSACKed() {
			i = f.skipSACKed(i) - 1
			continue
		}
		f.sackSlot(i, b, onDelivered)
	}
}

// sackSlot is sack for one slot.
func (f *flight) sackSlot(i int, b wire.Block, onDelivered func(*piece)) {
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
		onDelivered(f.pieceAt(at))
		f.setState(f.pieceAt(at), sackedByPeer)
	}
	if s.pieceList > 0 {
		f.mergeSACKed(s)
	}
}

// pieceCount returns the number of pieces of a slot.
func (f *flight) pieceCount(i int) int {
	if s := &f.slots[i]; s.pieceList > 0 {
		return len(f.pieceLists[s.pieceList-1])
	}
	return 1
}

// mergeSACKed merges adjacent SACKed pieces of a slot.
func (f *flight) mergeSACKed(s *slot) {
	pieces := f.pieceLists[s.pieceList-1]
	merged := pieces[:1]
	for _, p := range pieces[1:] {
		if last := &merged[len(merged)-1]; last.state == sackedByPeer && p.state == sackedByPeer {
			last.end = p.end
			continue
		}
		merged = append(merged, p)
	}
	if f.pieceLists[s.pieceList-1] = merged; len(merged) == 1 {
		s.piece = merged[0]
		f.dropPieces(s)
	}
}
