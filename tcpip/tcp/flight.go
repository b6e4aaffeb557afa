package tcp

import (
	"slices"

	"weir/wire"
)

// sent is a piece of the stream that is under way: as it was sent last, so perhaps of many segments of the wire.
type sent struct {
	seq, end wire.Seq
	at       Time  // when it was sent last
	again    uint8 // how often it was sent again, up to 255
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

// flight is what is under way, in the order of the stream. Its bytes are counted by what is known of them; SYN and FIN count as one each.
type flight struct {
	all                 []sent
	first               int // of all that is still there; what is before it was acknowledged
	bytes, sacked, lost int
	resent              wire.Seq // the greatest end of a piece that was sent again, of those still there: what begins there or behind it was sent in order
}

// pieces are those that are under way.
func (f *flight) pieces() []sent { return f.all[f.first:] }

func (f *flight) empty() bool { return f.first == len(f.all) }

// pipe is how many bytes are in the network, as far as is known (RFC 6675, section 4). A lost piece that was sent again is under way again.
func (f *flight) pipe() int { return f.bytes - f.sacked - f.lost }

// push notes a piece that is sent for the first time.
func (f *flight) push(s sent) {
	if f.first > 64 && f.first > len(f.all)/2 {
		f.all = f.all[:copy(f.all, f.all[f.first:])]
		f.first = 0
	}
	f.all = append(f.all, s)
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

// sentAgain notes that a piece was sent once more.
func (f *flight) sentAgain(s *sent, now Time) {
	f.mark(s, underWay)
	s.at = now
	f.resent = s.end.Later(f.resent)
	if s.again < 255 {
		s.again++
	}
}

// split cuts a piece, by its index in pieces, at a place inside it.
func (f *flight) split(i int, at wire.Seq) {
	i += f.first
	f.all = append(f.all, sent{})
	copy(f.all[i+1:], f.all[i:])
	f.all[i].end, f.all[i+1].seq = at, at
}

// acknowledge takes off what lies before una, telling of each piece before it goes.
func (f *flight) acknowledge(una wire.Seq, tell func(*sent)) {
	for !f.empty() && f.all[f.first].seq.Less(una) {
		if una.Less(f.all[f.first].end) {
			f.split(0, una)
		}
		s := &f.all[f.first]
		tell(s)
		f.count(s, -1)
		f.first++
	}
	f.resent = una.Later(f.resent)
	if f.empty() {
		f.all, f.first = f.all[:0], 0
		if cap(f.all) > keptPieces {
			f.all = nil
		}
	}
}

// keptPieces is how many an idle connection keeps room for.
const keptPieces = 8

// mostPieces is how many there are, nearly: all are looked through when some are lost. A peer that tells of every second byte does not have them cut beyond that, and to
// one that takes tiny segments no more are sent meanwhile.
const mostPieces = 4096

// sack marks what lies in a block as there, telling of each piece before it is marked. Pieces that are there and touch one another become one. Where there are too many,
// those that lie in it in part stay as they are.
func (f *flight) sack(b wire.Block, tell func(*sent)) {
	whole := len(f.pieces()) >= mostPieces
	i, _ := slices.BinarySearchFunc(f.pieces(), b.First, func(s sent, at wire.Seq) int { return s.end.Sub(at.Add(1)) }) // the first that ends behind it
	begin := i
	for ; i < len(f.pieces()); i++ {
		s := &f.pieces()[i]
		switch {
		case b.End.LessEq(s.seq):
			f.join(begin, i)
			return
		case s.state == sacked:
			continue
		case s.seq.Less(b.First):
			if !whole {
				f.split(i, b.First)
			}
			begin = i + 1
			continue
		case b.End.Less(s.end):
			if whole {
				f.join(begin, i)
				return
			}
			f.split(i, b.End)
			s = &f.pieces()[i]
		}
		tell(s)
		f.mark(s, sacked)
	}
	f.join(begin, i)
}

// join makes one of the pieces from index first up to end, which all are there, and of the one before and the one behind if they are too.
func (f *flight) join(first, end int) {
	p := f.pieces()
	if first > 0 && p[first-1].state == sacked {
		first--
	}
	if end < len(p) && p[end].state == sacked {
		end++
	}
	if end-first < 2 {
		return
	}
	p[first].end = p[end-1].end
	for _, s := range p[first+1 : end] {
		p[first].again = max(p[first].again, s.again)
	}
	f.all = slices.Delete(f.all, f.first+first+1, f.first+end)
}
