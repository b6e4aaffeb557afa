package ip

import (
	"bytes"
	"container/list"
	"net/netip"
	"slices"
	"time"

	"weir/wire"
)

// Limits configures a Reassembler. A zero field selects its default.
type Limits struct {
	// Memory bounds the bytes held by all incomplete packets, with overhead; the oldest packets are
	// evicted first. One source may have a quarter, or one packet. Default 4 MiB, as in Linux.
	Memory int
	// PacketsPerSource bounds the incomplete packets of one source; the oldest are evicted first,
	// as in Linux. Default 64.
	PacketsPerSource int
	// RangesPerPacket bounds the ranges, with gaps between them, of one packet. Default 64.
	RangesPerPacket int
	// Timeout is how long a packet may be incomplete. Default 30 s for IPv4, as in Linux (RFC 1122,
	// section 3.3.2, recommends 60 to 120 s), and 60 s for IPv6 (RFC 8200, section 4.5).
	Timeout time.Duration
}

// packetID identifies the packet that a fragment belongs to (RFC 791, section 3.2; RFC 8200,
// section 4.5).
type packetID struct {
	src, dst netip.Addr
	protocol wire.Protocol // IPv4 only
	id       uint32
}

// fragment is a fragment of either family.
type fragment struct {
	packetID
	first   int    // offset of its payload in that of the packet
	more    bool   // it is not the last one
	header  []byte // what precedes its payload
	payload []byte
	tos     uint8 // TOS octet, or traffic class
}

// Reassembler reassembles packets from fragments: one [reassembly] for each packet. Overlapping
// fragments discard their packet (RFC 5722, section 4, applied to both families). Otherwise a
// firewall that checks one fragment and a host that uses the other would see different packets. A
// duplicate fragment is ignored, as is one of IPv4 within another. Memory is accounted by the bytes
// received, not by their offset: eight bytes that claim to be the end of a packet do not reserve 64
// KB.
type Reassembler struct {
	limits       Limits
	reassemblies map[packetID]*reassembly
	byAge        list.List // of *reassembly, the oldest first
	heldBytes    int       // by all of them
	sources      map[netip.Addr]*source
}

// source holds the incomplete packets of one source address. A flood from that address, forged or
// not, evicts only its own packets.
type source struct {
	byAge     list.List // of *reassembly, the oldest first
	heldBytes int       // by all of them
}

// NewReassembler returns a Reassembler without packets.
func NewReassembler(l Limits) *Reassembler {
	if l.Memory == 0 {
		l.Memory = 4 << 20
	}
	if l.PacketsPerSource == 0 {
		l.PacketsPerSource = 64
	}
	if l.RangesPerPacket == 0 {
		l.RangesPerPacket = 64
	}
	a := &Reassembler{limits: l, reassemblies: map[packetID]*reassembly{}, sources: map[netip.Addr]*source{}}
	a.byAge.Init()
	return a
}

// Outcome is the result of adding a fragment.
type Outcome uint8

// The outcomes of adding a fragment.
const (
	Incomplete      Outcome = iota // other fragments are missing
	Complete                       // the packet is complete
	Overlaps                       // it overlaps another: the packet is discarded
	TooLarge                       // the packet would exceed 65,535 bytes
	NoRoom                         // no memory, or too many ranges: the packet is discarded
	Duplicate                      // it was received before
	Malformed                      // its length, or ECN fields, are invalid
	BadLength                      // IPv6: its length must be a multiple of 8
	IncompleteChain                // IPv6: the first fragment lacks headers of its packet
)

// reassembly is one incomplete packet.
type reassembly struct {
	packetID
	header     []byte      // what precedes the payload of the first fragment; nil until it arrives
	chunks     []chunk     // fragments in the order of arrival
	ranges     []byteRange // what they cover, ascending and not touching
	payloadLen int         // of the packet; below zero: the last fragment has not arrived
	heldBytes  int         // accounted for it
	ecnSeen    [4]bool     // which ECN fields the fragments had
	expiresAt  Time
	source     *source

	ageElement    *list.Element // in the byAge of the Reassembler
	sourceElement *list.Element // in the byAge of the source
	// discarded is set when the packet was discarded. The entry remains, so that its later
	// fragments do not start a new packet.
	discarded bool
}

// Overhead that is accounted for an incomplete packet, and for each of its fragments, in bytes.
const (
	reassemblyCost = 512
	chunkCost      = 64
)

// chunk is the payload of a fragment and its offset.
type chunk struct {
	first int
	bytes []byte
}

// byteRange is a range of the payload, from first up to but not including end.
type byteRange struct{ first, end int }

// Add adds a fragment. If that completes its packet, Add returns it with the corrected header of
// the first fragment; its bytes belong to the caller.
func (a *Reassembler) Add(p wire.IPv4, now Time) (wire.IPv4, Outcome) {
	f := fragment{packetID{p.Src(), p.Dst(), p.Protocol(), uint32(p.ID())}, p.FragmentOffset(), p.MoreFragments(), p[:p.HeaderLen()], p.Payload(), p.TOS()}
	return a.add(&f, now)
}

// add is Add for a fragment of either family.
func (a *Reassembler) add(f *fragment, now Time) ([]byte, Outcome) {
	switch length := len(f.payload); {
	case f.more && (length == 0 || length%8 != 0):
		return nil, Malformed
	case f.first+length > f.largest():
		return nil, TooLarge
	}
	s := a.reassemblies[f.packetID]
	if s == nil {
		if s = a.start(f.packetID, now); s == nil {
			return nil, NoRoom
		}
	}
	if s.discarded {
		return nil, Overlaps
	}
	o := a.store(s, f, byteRange{f.first, f.first + len(f.payload)})
	switch o {
	case Overlaps, NoRoom:
		a.discard(s)
	case Incomplete:
		if !s.complete() {
			return nil, Incomplete
		}
		if s.ecnSeen[ce] && s.ecnSeen[notECT] {
			a.discard(s)
			return nil, Malformed
		}
		// because of what only the first fragment has: options, extension headers
		if s.length() > s.largest()+s.headerLen() {
			a.discard(s)
			return nil, TooLarge
		}
		a.remove(s)
		return s.build(), Complete
	}
	return nil, o
}

// ECN fields (RFC 3168, section 5): the last two bits of the TOS octet. A packet is marked CE if
// one of its fragments is, and is discarded if another is not ECN-capable (section 5.3).
const (
	notECT = 0
	ce     = 3
)

// start makes room for a new packet.
func (a *Reassembler) start(id packetID, now Time) *reassembly {
	from := a.sources[id.src]
	if from != nil && from.byAge.Len() >= a.limits.PacketsPerSource {
		a.remove(from.byAge.Front().Value.(*reassembly))
	}
	if from = a.sources[id.src]; from == nil {
		from = &source{}
		a.sources[id.src] = from
	}
	s := &reassembly{source: from, packetID: id, payloadLen: -1, expiresAt: now + Time(a.timeout(id))}
	s.ageElement, s.sourceElement = a.byAge.PushBack(s), from.byAge.PushBack(s)
	a.reassemblies[id] = s
	if !a.reserve(s, reassemblyCost) {
		a.remove(s)
		return nil
	}
	return s
}

// store stores a fragment.
func (a *Reassembler) store(s *reassembly, f *fragment, at byteRange) Outcome {
	i, known := slices.BinarySearchFunc(s.ranges, at.first, func(x byteRange, first int) int { return x.first - first })
	switch {
	case known && s.ranges[i].end >= at.end && (f.more || s.payloadLen == at.end),
		i > 0 && s.ranges[i-1].end >= at.end && at.first < s.ranges[i-1].end:
		return s.repeats(f) // within a range received before: ranges that touch are merged
	case i > 0 && s.ranges[i-1].end > at.first, i < len(s.ranges) && at.end > s.ranges[i].first:
		return Overlaps
	case !f.more && s.payloadLen >= 0 && s.payloadLen != at.end, s.payloadLen >= 0 && at.end > s.payloadLen:
		return Overlaps
	case !f.more && len(s.ranges) > 0 && s.ranges[len(s.ranges)-1].end > at.end:
		return Overlaps
	}
	cost := chunkCost + len(f.payload)
	if !a.reserve(s, cost) {
		return NoRoom
	}
	if !f.more {
		s.payloadLen = at.end
	}
	s.chunks = append(s.chunks, chunk{at.first, slices.Clone(f.payload)})
	s.ecnSeen[f.tos&3] = true
	if at.first == 0 {
		s.header = slices.Clone(f.header)
	}
	return s.addRange(i, at, a.limits.RangesPerPacket)
}

// repeats returns Duplicate for a fragment of IPv4 within what was received before: routers may
// have fragmented a duplicate differently. One of IPv6 must be exactly a fragment received before,
// or else it overlaps (RFC 8200, section 4.5).
func (s *reassembly) repeats(f *fragment) Outcome {
	isLast := f.first+len(f.payload) == s.payloadLen
	same := func(c chunk) bool { return c.first == f.first && bytes.Equal(c.bytes, f.payload) }
	if s.src.Is4() || f.more != isLast && slices.ContainsFunc(s.chunks, same) {
		return Duplicate
	}
	return Overlaps
}

// maxPacketCost is what the largest packet costs in fragments of a usual size, in bytes.
const maxPacketCost = 128 << 10

// reserve accounts more bytes for a packet and reports whether they fit. It evicts older packets if
// need be: those of its source if that holds too much, then any.
func (a *Reassembler) reserve(s *reassembly, more int) bool {
	for s.source.heldBytes+more > max(a.limits.Memory/4, maxPacketCost) {
		if !a.evictOldest(&s.source.byAge, s) {
			return false
		}
	}
	for a.heldBytes+more > a.limits.Memory {
		if !a.evictOldest(&a.byAge, s) {
			return false
		}
	}
	a.account(s, more)
	return true
}

// evictOldest removes the oldest packet of a list and reports whether it did; it does not remove s.
func (a *Reassembler) evictOldest(byAge *list.List, s *reassembly) bool {
	oldest := byAge.Front().Value.(*reassembly)
	if oldest == s {
		return false
	}
	a.remove(oldest)
	return true
}

// account adds to the bytes accounted for a packet; more may be negative.
func (a *Reassembler) account(s *reassembly, more int) {
	a.heldBytes += more
	s.heldBytes += more
	s.source.heldBytes += more
}

// addRange inserts a range at index i and merges it with those that it touches.
func (s *reassembly) addRange(i int, at byteRange, limit int) Outcome {
	if i > 0 && s.ranges[i-1].end == at.first {
		i--
		s.ranges[i].end = at.end
	} else {
		if len(s.ranges) >= limit {
			return NoRoom
		}
		s.ranges = slices.Insert(s.ranges, i, at)
	}
	if i+1 < len(s.ranges) && s.ranges[i].end == s.ranges[i+1].first {
		s.ranges[i].end = s.ranges[i+1].end
		s.ranges = slices.Delete(s.ranges, i+1, i+2)
	}
	return Incomplete
}

// complete reports whether all fragments have arrived.
func (s *reassembly) complete() bool {
	return s.payloadLen >= 0 && len(s.ranges) == 1 && s.ranges[0] == byteRange{0, s.payloadLen} && s.header != nil
}

// build returns the complete packet.
func (s *reassembly) build() []byte {
	b := make([]byte, s.length())
	header := s.wholeHeader(b[:0])
	for _, c := range s.chunks {
		copy(b[len(header)+c.first:], c.bytes)
	}
	return b
}

// discard drops the fragments of a packet, and keeps its entry until it expires.
func (a *Reassembler) discard(s *reassembly) {
	a.account(s, reassemblyCost-s.heldBytes)
	s.chunks, s.ranges, s.header, s.discarded = nil, nil, nil, true
}

// remove forgets a packet.
func (a *Reassembler) remove(s *reassembly) {
	a.account(s, -s.heldBytes)
	a.byAge.Remove(s.ageElement)
	s.source.byAge.Remove(s.sourceElement)
	delete(a.reassemblies, s.packetID)
	if s.source.byAge.Len() == 0 {
		delete(a.sources, s.src)
	}
}

// Tick removes expired packets, and returns when to call it next; 0: only after Add. It calls
// expired with the first fragment of each, if that has arrived: the sender must get a Time
// Exceeded, code 1 (RFC 792).
func (a *Reassembler) Tick(now Time, expired func(first []byte)) (next Time) {
	for e := a.byAge.Front(); e != nil; e = a.byAge.Front() {
		s := e.Value.(*reassembly)
		if s.expiresAt > now {
			return s.expiresAt
		}
		if i := slices.IndexFunc(s.chunks, func(c chunk) bool { return c.first == 0 }); i >= 0 && s.header != nil {
			expired(append(slices.Clone(s.header), s.chunks[i].bytes...))
		}
		a.remove(s)
	}
	return 0
}

// HeldBytes is the memory accounted for incomplete packets, including discarded ones until they
// expire.
func (a *Reassembler) HeldBytes() int { return a.heldBytes }

// MaxBytes is the limit of HeldBytes.
func (a *Reassembler) MaxBytes() int { return a.limits.Memory }
