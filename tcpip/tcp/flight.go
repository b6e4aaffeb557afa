package tcp

import (
	"slices"

	"weir/wire"
)

// sent is a piece of the stream that is under way: as it was sent last, so perhaps of many segments
// of the wire.
type sent struct {
	seq, end wire.Seq
	at       Time   // when it was sent last
	size     uint16 // payload of its segments; the last one may have less
	again    uint8  // how often it was sent again, up to 255
	state    pieceState
}

// pieceState is what is known of a piece.
type pieceState uint8

const (
	underWay pieceState = iota // nothing
	sacked                     // the peer has it, behind a gap
	lost                       // it has to be sent again
)

func (s *sent) len() int { return s.end.Sub(s.seq) }

// segments gives those segments of the piece that lie in a block whole: from the first one's start
// to the last one's end. What lies in it in part does not count: who has received a part of a
// segment has not received a segment of ours.
func (s *sent) segments(b wire.Block) (first, end wire.Seq) {
	first, end = s.seq, s.end
	size := max(int(s.size), 1)
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
	slots               []slot
	cuts                [][]sent // the parts of slots that have some; nil: free
	free                []int32  // of cuts: which are
	first               int      // of slots that is still there; what is before it was acknowledged
	bytes, sacked, lost int

	fresh  int      // in slots before it, what was sent once is lost, or there
	resent spans    // what was sent again, by the time of that
	missed [2]spans // what is lost: of what was sent once, and of what was sent again
}

// slot is what was sent at once.
type slot struct {
	sent
	// of one that the peer has whole: so many slots further on is the next that may not be so
	leap int32
	// one more than where its parts are in cuts; 0: it is all alike. An index, so that slots are
	// nothing to the collector
	cut int32
}

// whole reports whether the peer has all of it.
func (s *slot) whole() bool { return s.cut == 0 && s.state == sacked }

// place is one of a slot's pieces.
type place struct{ slot, part int }

// piece is the piece at a place.
func (f *flight) piece(p place) *sent {
	if s := &f.slots[p.slot]; s.cut > 0 {
		return &f.cuts[s.cut-1][p.part]
	}
	return &f.slots[p.slot].sent
}

func (f *flight) empty() bool { return f.first == len(f.slots) }

// sends is how many slots are under way.
func (f *flight) sends() int { return len(f.slots) - f.first }

// pipe is how many bytes are in the network, as far as is known (RFC 6675, section 4). A lost piece
// that was sent again is under way again.
func (f *flight) pipe() int { return f.bytes - f.sacked - f.lost }

// full reports whether there are too many slots to take more. A peer that takes tiny segments does
// not have one kept of each byte of a large window.
func (f *flight) full() bool { return f.sends() >= mostSends && f.bytes < f.sends()*tinySend }

const (
	mostSends = 4096 // tiny ones under way at once
	tinySend  = 512  // bytes that they have at most, on average
	keptSlots = 4    // that an idle connection keeps room for
	mostGrown = 28   // that there is room for at once when these are too few
)

// push notes a piece that is sent for the first time.
func (f *flight) push(s sent) {
	if f.first > 64 && f.first > len(f.slots)/2 {
		f.slots = f.slots[:copy(f.slots, f.slots[f.first:])]
		f.fresh, f.first = max(0, f.fresh-f.first), 0
	}
	if n := len(f.slots); n == cap(f.slots) && n >= keptSlots {
		f.slots = slices.Grow(f.slots, max(n, mostGrown))
	}
	f.slots = append(f.slots, slot{sent: s})
	f.count(&s, 1)
}

// count adds a piece to the counts, or, with sign -1, takes it off.
func (f *flight) count(s *sent, sign int) {
	n := sign * s.len()
	f.bytes += n
	switch s.state {
	case sacked:
		f.sacked += n
	case lost:
		f.lost += n
	}
}

// mark changes what is known of a piece.
func (f *flight) mark(s *sent, to pieceState) {
	f.count(s, -1)
	s.state = to
	f.count(s, 1)
}

// lose notes that a piece is lost.
func (f *flight) lose(s *sent) {
	f.mark(s, lost)
	f.missed[min(s.again, 1)].push(span{s.seq, s.end, 0})
}

// sentAgain notes that a piece was sent once more, in segments of a size.
func (f *flight) sentAgain(s *sent, size int, now Time) {
	f.mark(s, underWay)
	s.at, s.size = now, uint16(size)
	if s.again < 255 {
		s.again++
	}
	f.resent.push(span{s.seq, s.end, now})
}

// split cuts the piece at a place into two; the first is at the place then.
func (f *flight) split(p place, at wire.Seq) {
	s := &f.slots[p.slot]
	if s.cut == 0 {
		f.divide(s)
	}
	parts := &f.cuts[s.cut-1]
	*parts = slices.Insert(*parts, p.part+1, (*parts)[p.part])
	(*parts)[p.part].end, (*parts)[p.part+1].seq = at, at
}

// divide gives a slot parts, one as yet.
func (f *flight) divide(s *slot) {
	if n := len(f.free); n > 0 {
		s.cut, f.free = f.free[n-1], f.free[:n-1]
	} else {
		f.cuts = append(f.cuts, nil)
		s.cut = int32(len(f.cuts))
	}
	f.cuts[s.cut-1] = []sent{s.sent}
}

// unite has a slot have no parts.
func (f *flight) unite(s *slot) {
	f.cuts[s.cut-1] = nil
	f.free = append(f.free, s.cut)
	s.cut = 0
}

// acknowledge takes off what lies before una, telling of each piece before it goes.
func (f *flight) acknowledge(una wire.Seq, tell func(*sent)) {
	for ; !f.empty() && f.slots[f.first].seq.Less(una); f.first++ {
		s := &f.slots[f.first]
		if s.cut > 0 {
			parts := &f.cuts[s.cut-1]
			for len(*parts) > 0 && (*parts)[0].end.LessEq(una) {
				f.take(&(*parts)[0], tell)
				*parts = (*parts)[1:]
			}
		}
		if una.Less(s.end) {
			f.trim(s, una, tell)
			return
		}
		if s.cut > 0 {
			f.unite(s)
			continue
		}
		f.take(&s.sent, tell)
	}
	f.fresh = max(f.fresh, f.first)
	if !f.empty() {
		return
	}
	f.slots, f.first, f.fresh = f.slots[:0], 0, 0
	if f.cuts != nil || f.resent.all != nil || f.missed[0].all != nil || f.missed[1].all != nil {
		f.cuts, f.free, f.resent, f.missed = nil, nil, spans{}, [2]spans{}
	}
	if cap(f.slots) > keptSlots {
		f.slots = nil
	}
}

// trim takes off what lies before una of a slot that it lies in.
func (f *flight) trim(s *slot, una wire.Seq, tell func(*sent)) {
	p := &s.sent
	if s.cut > 0 {
		p = &f.cuts[s.cut-1][0]
	}
	if before := *p; before.seq.Less(una) {
		before.end = una
		f.take(&before, tell)
		p.seq = una
	}
	s.seq = una
	f.fresh = max(f.fresh, f.first)
}

func (f *flight) take(s *sent, tell func(*sent)) {
	tell(s)
	f.count(s, -1)
}

// slotAt is the first slot that ends behind a place in the stream.
func (f *flight) slotAt(at wire.Seq) int {
	i, _ := slices.BinarySearchFunc(f.slots[f.first:], at, func(s slot, at wire.Seq) int { return s.end.Sub(at.Add(1)) })
	return f.first + i
}

// past is the first slot from i on that the peer does not have whole. Those that it has are leapt
// over from then on.
func (f *flight) past(i int) int {
	to := i
	for to < len(f.slots) && f.slots[to].whole() {
		to += max(1, int(f.slots[to].leap))
	}
	for i < to {
		next := i + max(1, int(f.slots[i].leap))
		f.slots[i].leap = int32(to - i)
		i = next
	}
	return to
}

// sack marks what lies in a block as there, telling of each piece before it is marked.
func (f *flight) sack(b wire.Block, tell func(*sent)) {
	for i := f.slotAt(b.First); i < len(f.slots) && f.slots[i].seq.Less(b.End); i++ {
		if f.slots[i].whole() {
			i = f.past(i) - 1
			continue
		}
		f.sackSlot(i, b, tell)
	}
}

// sackSlot marks what lies in a block of one slot.
func (f *flight) sackSlot(i int, b wire.Block, tell func(*sent)) {
	s := &f.slots[i]
	for at := (place{i, 0}); at.part < f.parts(i); at.part++ {
		p := f.piece(at)
		first, end := p.segments(b)
		if p.state == sacked || end.LessEq(first) {
			continue
		}
		if p.seq != first {
			f.split(at, first)
			at.part++
		}
		if f.piece(at).end != end {
			f.split(at, end)
		}
		tell(f.piece(at))
		f.mark(f.piece(at), sacked)
	}
	if s.cut > 0 {
		f.join(s)
	}
}

// parts is how many pieces a slot is of.
func (f *flight) parts(i int) int {
	if s := &f.slots[i]; s.cut > 0 {
		return len(f.cuts[s.cut-1])
	}
	return 1
}

// join makes one of parts that touch and that the peer has.
func (f *flight) join(s *slot) {
	parts := f.cuts[s.cut-1]
	all := parts[:1]
	for _, p := range parts[1:] {
		if last := &all[len(all)-1]; last.state == sacked && p.state == sacked {
			last.end = p.end
			continue
		}
		all = append(all, p)
	}
	if f.cuts[s.cut-1] = all; len(all) == 1 {
		s.sent = all[0]
		f.unite(s)
	}
}
