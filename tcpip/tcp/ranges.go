package tcp

import (
	"slices"

	"weir/wire"
)

// maxRanges is how many pieces may lie behind gaps: a peer that sends every other byte must not
// make us search for ever.
const maxRanges = 1024

// ranges are the pieces of a stream that have come behind a gap, in their order, not touching one
// another.
type rangeSet struct {
	blocks []wire.Block
	// a place in each of the pieces that changed last, the latest first (RFC 2018, section 4)
	recent      [wire.MaxSACK]wire.Seq
	recentCount int // of recent
}

// add notes a piece, and says whether there is room for it.
func (r *rangeSet) add(b wire.Block) bool {
	from := r.search(b.First)
	to := from
	for ; to < len(r.blocks) && r.blocks[to].First.LessEq(b.End); to++ {
		if r.blocks[to].First.Less(b.First) {
			b.First = r.blocks[to].First
		}
		b.End = b.End.Max(r.blocks[to].End)
	}
	if from == to && len(r.blocks) >= maxRanges {
		return false
	}
	r.blocks = slices.Replace(r.blocks, from, to, b)
	r.noteRecent(b.First)
	return true
}

// holds says whether a piece has come whole, and by which it is held.
func (r *rangeSet) containing(b wire.Block) (wire.Block, bool) {
	if i := r.search(b.End); i < len(r.blocks) && r.blocks[i].First.LessEq(b.First) {
		return r.blocks[i], true
	}
	return wire.Block{}, false
}

// endsFrom is the first piece that ends at a place or behind it.
func (r *rangeSet) search(at wire.Seq) int {
	i, _ := slices.BinarySearchFunc(r.blocks, at, func(x wire.Block, at wire.Seq) int { return x.End.Sub(at) })
	return i
}

// advance takes off what begins at or before next, and says up to where the stream is whole then.
func (r *rangeSet) mergeFrom(next wire.Seq) wire.Seq {
	done := 0
	for ; done < len(r.blocks) && r.blocks[done].First.LessEq(next); done++ {
		next = next.Max(r.blocks[done].End)
	}
	if done > 0 {
		r.blocks = slices.Delete(r.blocks, 0, done)
	}
	if len(r.blocks) == 0 {
		*r = rangeSet{}
	}
	return next
}

// end is behind the last piece; only when there is one.
func (r *rangeSet) end() wire.Seq { return r.blocks[len(r.blocks)-1].End }

func (r *rangeSet) noteRecent(at wire.Seq) {
	copy(r.recent[1:], r.recent[:])
	r.recent[0] = at
	r.recentCount = min(r.recentCount+1, len(r.recent))
}

// blocks are what to report: the piece that changed last first, each once.
func (r *rangeSet) recentBlocks(most int) (recentBlocks [wire.MaxSACK]wire.Block, n uint8) {
	for _, at := range r.recent[:r.recentCount] {
		b, ok := r.containing(wire.Block{First: at, End: at})
		if ok && int(n) < most && !slices.Contains(recentBlocks[:n], b) {
			recentBlocks[n] = b
			n++
		}
	}
	return recentBlocks, n
}
