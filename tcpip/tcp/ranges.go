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
type ranges struct {
	all []wire.Block
	// a place in each of the pieces that changed last, the latest first (RFC 2018, section 4)
	recent [wire.MaxSACK]wire.Seq
	count  int // of recent
}

// add notes a piece, and says whether there is room for it.
func (r *ranges) add(b wire.Block) bool {
	from := r.endsFrom(b.First)
	to := from
	for ; to < len(r.all) && r.all[to].First.LessEq(b.End); to++ {
		if r.all[to].First.Less(b.First) {
			b.First = r.all[to].First
		}
		b.End = b.End.Later(r.all[to].End)
	}
	if from == to && len(r.all) >= maxRanges {
		return false
	}
	r.all = slices.Replace(r.all, from, to, b)
	r.touched(b.First)
	return true
}

// holds says whether a piece has come whole, and by which it is held.
func (r *ranges) holds(b wire.Block) (wire.Block, bool) {
	if i := r.endsFrom(b.End); i < len(r.all) && r.all[i].First.LessEq(b.First) {
		return r.all[i], true
	}
	return wire.Block{}, false
}

// endsFrom is the first piece that ends at a place or behind it.
func (r *ranges) endsFrom(at wire.Seq) int {
	i, _ := slices.BinarySearchFunc(r.all, at, func(x wire.Block, at wire.Seq) int { return x.End.Sub(at) })
	return i
}

// advance takes off what begins at or before next, and says up to where the stream is whole then.
func (r *ranges) advance(next wire.Seq) wire.Seq {
	done := 0
	for ; done < len(r.all) && r.all[done].First.LessEq(next); done++ {
		next = next.Later(r.all[done].End)
	}
	if done > 0 {
		r.all = slices.Delete(r.all, 0, done)
	}
	if len(r.all) == 0 {
		*r = ranges{}
	}
	return next
}

// end is behind the last piece; only when there is one.
func (r *ranges) end() wire.Seq { return r.all[len(r.all)-1].End }

func (r *ranges) touched(at wire.Seq) {
	copy(r.recent[1:], r.recent[:])
	r.recent[0] = at
	r.count = min(r.count+1, len(r.recent))
}

// blocks are what to report: the piece that changed last first, each once.
func (r *ranges) blocks(most int) (blocks [wire.MaxSACK]wire.Block, n uint8) {
	for _, at := range r.recent[:r.count] {
		b, ok := r.holds(wire.Block{First: at, End: at})
		if ok && int(n) < most && !slices.Contains(blocks[:n], b) {
			blocks[n] = b
			n++
		}
	}
	return blocks, n
}
