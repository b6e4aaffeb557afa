package ip

import (
	"container/list"
	"net/netip"
	"slices"
	"time"

	"weir/wire"
)

// Limits of an Assembler. The zero value of a field gives its default.
type Limits struct {
	// bytes that all unfinished packets may hold, their bookkeeping included. Default 4 MiB, as
	// Linux; the oldest go first. One source may have a quarter, or one packet
	Memory int
	// unfinished packets of one source; of more the oldest go, as with Linux. Default 64
	Each   int
	Pieces int // pieces, gaps between them, of one packet. Default 64
	// until a packet has to be whole. Default 30 s, as Linux (RFC 1122, section 3.3.2: 60 to 120)
	Time time.Duration
}

// packetID names a packet whose fragments come (RFC 791, section 3.2).
type packetID struct {
	src, dst netip.Addr
	protocol wire.Protocol
	id       uint16
}

// Assembler puts fragments together: one [assembly] for each packet. Fragments that overlap end
// their packet (RFC 5722, section 4, which is wise for IPv4 as well): who checks the one and who
// uses the other would see different packets. A fragment that came twice is let pass. What is held
// counts by what has come, not by where in the packet it belongs: eight bytes that claim to be a
// packet's last do not hold room for 64 KB.
type Assembler struct {
	limits Limits
	all    map[packetID]*assembly
	ages   list.List // of *assembly, the oldest first
	held   int       // bytes
	of     map[netip.Addr]*source
}

// source is what one sender has not finished. Who floods, by its own address or by another's that
// it claims, pushes out what that address has sent first, and nobody else's.
type source struct {
	ages list.List // of *assembly, the oldest first
	held int       // bytes
}

// NewAssembler makes one.
func NewAssembler(l Limits) *Assembler {
	if l.Memory == 0 {
		l.Memory = 4 << 20
	}
	if l.Each == 0 {
		l.Each = 64
	}
	if l.Pieces == 0 {
		l.Pieces = 64
	}
	if l.Time == 0 {
		l.Time = 30 * time.Second
	}
	a := &Assembler{limits: l, all: map[packetID]*assembly{}, of: map[netip.Addr]*source{}}
	a.ages.Init()
	return a
}

// Outcome is what became of a fragment.
type Outcome uint8

// The outcomes.
const (
	Held     Outcome = iota // others are missing
	Whole                   // the packet is whole
	Overlaps                // it contradicts another: the packet is given up
	TooLarge                // the packet would be longer than a packet can be
	Crowded                 // there is no room, or there are too many pieces
	Twice                   // it had come before
	Wrong                   // a fragment in the middle that is no multiple of 8 bytes long
)

// assembly is one packet in the making.
type assembly struct {
	packetID
	header []byte  // of the first fragment; nil until it has come
	chunks []chunk // what has come, in the order in which it did
	pieces []piece // what that covers, in the order of the packet; none touches the next
	total  int     // of the payload; below zero: the last has not come
	held   int     // bytes that it counts for
	marked [4]bool // the marks of congestion notification that have come
	until  Time
	from   *source
	age    *list.Element // in the assembler's ages
	own    *list.Element // in its source's
	// it is given up, and remembered so that what still comes of it is not taken for a new one
	dead bool
}

// What an unfinished packet, and each of its fragments, counts for beside its bytes.
const (
	assemblyCost = 512
	chunkCost    = 64
)

// chunk is what a fragment carries, and where it belongs.
type chunk struct {
	first int
	bytes []byte
}

// piece is from first to before end, in bytes of the payload.
type piece struct{ first, end int }

// Add takes a fragment. When its packet is whole, it is returned, with the first fragment's header
// made right; its bytes are the caller's.
func (a *Assembler) Add(p wire.IPv4, now Time) (wire.IPv4, Outcome) {
	id := packetID{p.Src(), p.Dst(), p.Protocol(), p.ID()}
	first, length := p.FragmentOffset(), len(p.Payload())
	switch {
	case p.MoreFragments() && (length == 0 || length%8 != 0):
		return nil, Wrong
	case first+length+wire.IPv4Header > wire.IPv4Largest:
		return nil, TooLarge
	}
	s := a.all[id]
	if s == nil {
		if s = a.begin(id, now); s == nil {
			return nil, Crowded
		}
	}
	if s.dead {
		return nil, Overlaps
	}
	o := a.put(s, p, piece{first, first + length})
	switch o {
	case Overlaps, Crowded:
		a.kill(s)
	case Held:
		if !s.whole() {
			return nil, Held
		}
		if s.marked[congested] && s.marked[incapable] {
			a.kill(s)
			return nil, Wrong
		}
		// by the first fragment's options, which no other has
		if len(s.header)+s.total > wire.IPv4Largest {
			a.kill(s)
			return nil, TooLarge
		}
		a.forget(s)
		return s.packet(), Whole
	}
	return nil, o
}

// Marks of explicit congestion notification (RFC 3168, section 5), in the last two bits of the
// octet. A packet is marked when one of its fragments is, and is dropped when others say that its
// sender does not know of that (section 5.3).
const (
	incapable = 0
	congested = 3
)

// begin makes room for a packet.
func (a *Assembler) begin(id packetID, now Time) *assembly {
	from := a.of[id.src]
	if from != nil && from.ages.Len() >= a.limits.Each {
		a.forget(from.ages.Front().Value.(*assembly))
	}
	if from = a.of[id.src]; from == nil {
		from = &source{}
		a.of[id.src] = from
	}
	s := &assembly{from: from, packetID: id, total: -1, until: now + Time(a.limits.Time)}
	s.age, s.own = a.ages.PushBack(s), from.ages.PushBack(s)
	a.all[id] = s
	if !a.room(s, assemblyCost) {
		a.forget(s)
		return nil
	}
	return s
}

// put writes a fragment to its place.
func (a *Assembler) put(s *assembly, p wire.IPv4, at piece) Outcome {
	i, known := slices.BinarySearchFunc(s.pieces, at.first, func(x piece, first int) int { return x.first - first })
	switch {
	case known && s.pieces[i].end >= at.end && (p.MoreFragments() || s.total == at.end):
		return Twice
	case i > 0 && s.pieces[i-1].end >= at.end && at.first < s.pieces[i-1].end:
		return Twice // inside what has come: pieces that touch were joined
	case i > 0 && s.pieces[i-1].end > at.first, i < len(s.pieces) && at.end > s.pieces[i].first:
		return Overlaps
	case !p.MoreFragments() && s.total >= 0 && s.total != at.end, s.total >= 0 && at.end > s.total:
		return Overlaps
	case !p.MoreFragments() && len(s.pieces) > 0 && s.pieces[len(s.pieces)-1].end > at.end:
		return Overlaps
	}
	cost := chunkCost + len(p.Payload())
	if !a.room(s, cost) {
		return Crowded
	}
	if !p.MoreFragments() {
		s.total = at.end
	}
	s.chunks = append(s.chunks, chunk{at.first, slices.Clone(p.Payload())})
	s.marked[p.TOS()&3] = true
	if at.first == 0 {
		s.header = slices.Clone(p[:p.HeaderLen()])
	}
	return s.join(i, at, a.limits.Pieces)
}

// packetMost is what a packet counts for that comes in pieces of a usual size.
const packetMost = 128 << 10

// room has s hold so many bytes more, at the cost of older packets: of its source's, where that has
// too much, and then of anybody's.
func (a *Assembler) room(s *assembly, more int) bool {
	for s.from.held+more > max(a.limits.Memory/4, packetMost) {
		if !a.pushOut(&s.from.ages, s) {
			return false
		}
	}
	for a.held+more > a.limits.Memory {
		if !a.pushOut(&a.ages, s) {
			return false
		}
	}
	a.count(s, more)
	return true
}

// pushOut forgets the oldest of some packets, unless that is s.
func (a *Assembler) pushOut(ages *list.List, s *assembly) bool {
	oldest := ages.Front().Value.(*assembly)
	if oldest == s {
		return false
	}
	a.forget(oldest)
	return true
}

// count has s hold so many bytes more, or less.
func (a *Assembler) count(s *assembly, more int) {
	a.held += more
	s.held += more
	s.from.held += more
}

// join adds a piece before the one with index i, and joins it with those that it touches.
func (s *assembly) join(i int, at piece, most int) Outcome {
	if i > 0 && s.pieces[i-1].end == at.first {
		i--
		s.pieces[i].end = at.end
	} else {
		if len(s.pieces) >= most {
			return Crowded
		}
		s.pieces = slices.Insert(s.pieces, i, at)
	}
	if i+1 < len(s.pieces) && s.pieces[i].end == s.pieces[i+1].first {
		s.pieces[i].end = s.pieces[i+1].end
		s.pieces = slices.Delete(s.pieces, i+1, i+2)
	}
	return Held
}

func (s *assembly) whole() bool {
	return s.total >= 0 && len(s.pieces) == 1 && s.pieces[0] == piece{0, s.total} && s.header != nil
}

// packet is the packet, whole.
func (s *assembly) packet() wire.IPv4 {
	h := wire.IPv4(s.header)
	tos := h.TOS()
	if s.marked[congested] {
		tos |= congested
	}
	b := wire.AppendIPv4(make([]byte, 0, len(h)+s.total), &wire.IPv4Fields{TOS: tos, ID: h.ID(), TTL: h.TTL(), Protocol: h.Protocol(), Src: h.Src(), Dst: h.Dst(),
		Options: h.Options(), Payload: s.total})
	payload := b[len(b) : len(h)+s.total]
	for _, c := range s.chunks {
		copy(payload[c.first:], c.bytes)
	}
	return b[:len(h)+s.total]
}

// kill gives a packet up, and remembers that until its time is over.
func (a *Assembler) kill(s *assembly) {
	a.count(s, assemblyCost-s.held)
	s.chunks, s.pieces, s.header, s.dead = nil, nil, nil, true
}

func (a *Assembler) forget(s *assembly) {
	a.count(s, -s.held)
	a.ages.Remove(s.age)
	s.from.ages.Remove(s.own)
	delete(a.all, s.packetID)
	if s.from.ages.Len() == 0 {
		delete(a.of, s.src)
	}
}

// Tick gives up packets whose time is over. Of each whose first fragment has come, that is told:
// its sender is to hear of it (RFC 792, Time Exceeded, code 1). It says when it is to be called
// next; 0: not before a fragment has come.
func (a *Assembler) Tick(now Time, late func(first wire.IPv4)) (next Time) {
	for e := a.ages.Front(); e != nil; e = a.ages.Front() {
		s := e.Value.(*assembly)
		if s.until > now {
			return s.until
		}
		if i := slices.IndexFunc(s.chunks, func(c chunk) bool { return c.first == 0 }); i >= 0 && s.header != nil {
			late(append(slices.Clone(s.header), s.chunks[i].bytes...))
		}
		a.forget(s)
	}
	return 0
}

// Held is how many bytes unfinished packets hold, those given up included until they are forgotten.
func (a *Assembler) Held() int { return a.held }

// Most is how many bytes unfinished packets may hold.
func (a *Assembler) Most() int { return a.limits.Memory }
