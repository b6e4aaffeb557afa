package tcp

import (
	"slices"

	"weir/wire"
)

// maxRanges limits the blocks of out-of-order data: a peer that sends every other byte must not
// make searches slow.
const maxRanges = 1024

// rangeSet is the set of out-of-order data: blocks in sequence order that do not touch.
type rangeSet struct {
	blocks []wire.Block
	// recent holds a sequence number in each of the blocks that changed last, the latest first
	// (RFC 2018, section 4).
	recent      [wire.MaxSACK]wire.Seq
	recentCount int // elements of recent that are set
}

// add adds a block, merging it with those that it touches, and reports whether there was room.
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

// containing returns the block that contains all of b, if there is one.
func (r *rangeSet) containing(b wire.Block) (wire.Block, bool) {
	if i := r.search(b.End); i < len(r.blocks) && r.blocks[i].First.LessEq(b.First) {
		return r.blocks[i], true
	}
	return wire.Block{}, false
}

// search returns the index of the first block that ends at or after seq.
func (r *rangeSet) search(seq wire.Seq) int {
	i, _ := slices.BinarySearchFunc(r.blocks, seq, func(x wire.Block, seq wire.Seq) int { return x.End.Sub(seq) })
	return i
}

// mergeFrom removes the blocks that start at or before next, and returns up to where the stream is
// then complete.
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

// end is the end of the last block. The set must not be empty.
func (r *rangeSet) end() wire.Seq { return r.blocks[len(r.blocks)-1].End }

// noteRecent records that the block at seq changed.
func (r *rangeSet) noteRecent(seq wire.Seq) {
	copy(r.recent[1:], r.recent[:])
	r.recent[0] = seq
	r.recentCount = min(r.recentCount+1, len(r.recent))
}

// recentBlocks returns the SACK blocks to report, at most limit: the latest changed first, each
// once.
func (r *rangeSet) recentBlocks(limit int) (blocks [wire.MaxSACK]wire.Block, n uint8) {
	for _, at := range r.recent[:r.recentCount] {
		b, ok := r.containing(wire.Block{First: at, End: at})
		if ok && int(n) < limit && !slices.Contains(blocks[:n], b) {
			blocks[n] = b
			n++
		}
	}
	return blocks, n
}
