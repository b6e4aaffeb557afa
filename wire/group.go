package wire

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// IGMP (RFC 3376) and MLD (RFC 3810) have the same messages with addresses of different lengths.
// This file has what they share.

// GroupQuery is a query of IGMP or MLD: a router asks which groups have members on the link.
type GroupQuery struct {
	Version     uint8         // of the protocol: IGMP 1 to 3, MLD 1 and 2
	Group       netip.Addr    // unspecified: the query is for all groups
	MaxResponse time.Duration // the longest delay of an answer

	// Of the newest version only.
	Suppress   bool          // the S flag: other routers do not update their timers
	Robustness uint8         // the querier's robustness variable; 0: above 7
	Interval   time.Duration // between general queries
	Sources    AddrList      // the query is for these sources only; empty: for all
}

// AddrList are addresses of one family in a message, a view.
type AddrList struct {
	bytes []byte
	size  int // of an address
}

// Len returns the number of addresses.
func (l AddrList) Len() int {
	if l.size == 0 {
		return 0
	}
	return len(l.bytes) / l.size
}

// At returns an address.
func (l AddrList) At(i int) netip.Addr { return addrAt(l.bytes[i*l.size:], l.size) }

// NewAddrList returns a list of addresses of one family.
func NewAddrList(all ...netip.Addr) (l AddrList) {
	for _, a := range all {
		l.bytes, l.size = appendAddr(l.bytes, a), a.BitLen()/8
	}
	return l
}

// addrAt reads an address of 4 or 16 bytes.
func addrAt(b []byte, size int) netip.Addr {
	if size == 4 {
		return netip.AddrFrom4([4]byte(b))
	}
	return netip.AddrFrom16([16]byte(b))
}

func appendAddr(b []byte, a netip.Addr) []byte {
	if a.Is4() {
		x := a.As4()
		return append(b, x[:]...)
	}
	x := a.As16()
	return append(b, x[:]...)
}

// isGroupOrZero reports whether a query may have the group a.
func isGroupOrZero(a netip.Addr) bool { return a.IsMulticast() || a.IsUnspecified() }

// queryTail is the length of what follows the group in a query of the newest version, before its
// sources.
const queryTail = 4

// parseTail reads what follows the group in a query of the newest version (RFC 3376, section 4.1;
// RFC 3810, section 5.1).
func (q *GroupQuery) parseTail(b []byte, size int) Fault {
	n := int(binary.BigEndian.Uint16(b[2:])) * size
	if n > len(b)-queryTail {
		return Short
	}
	q.Suppress, q.Robustness = b[0]&8 != 0, b[0]&7
	q.Interval = time.Duration(decodeFloat(uint32(b[1]), 4)) * time.Second
	q.Sources = AddrList{b[queryTail : queryTail+n], size}
	return OK
}

// appendTail appends what parseTail reads.
func (q *GroupQuery) appendTail(b []byte) []byte {
	flags := q.Robustness & 7
	if q.Suppress {
		flags |= 8
	}
	b = append(b, flags, byte(encodeFloat(uint32(q.Interval/time.Second), 4)))
	return append(binary.BigEndian.AppendUint16(b, uint16(q.Sources.Len())), q.Sources.bytes...)
}

// decodeFloat returns the value of a code: a number, or from the highest bit on one with an
// exponent of three bits and a mantissa (RFC 3376, section 4.1.1; RFC 3810, section 5.1.3).
func decodeFloat(code uint32, mantissaBits int) uint32 {
	top := uint32(8) << mantissaBits
	if code < top {
		return code
	}
	return (code&(1<<mantissaBits-1) | 1<<mantissaBits) << (code>>mantissaBits&7 + 3)
}

// encodeFloat returns the code of a value, rounded down.
func encodeFloat(value uint32, mantissaBits int) uint32 {
	top := uint32(8) << mantissaBits
	if value < top {
		return value
	}
	exponent := uint32(0)
	for value>>(exponent+3) >= 2<<mantissaBits {
		exponent++
	}
	if exponent > 7 {
		return 2*top - 1
	}
	return top | exponent<<mantissaBits | value>>(exponent+3)&(1<<mantissaBits-1)
}

// GroupReport is a report of IGMP or MLD: the groups of a host.
type GroupReport struct {
	Version uint8 // of the protocol: IGMP 1 to 3, MLD 1 and 2

	Records []GroupRecord // of the newest version only

	// Of older versions only.
	Group netip.Addr
	Leave bool // the host has left the group: a Leave Group, or Done, message
}

// RecordKind is the type of a record (RFC 3376, section 4.2.12; RFC 3810, section 5.2.12).
type RecordKind uint8

// The kinds of records: the current state, a change of the filter mode, a change of sources.
const (
	ModeIsInclude   RecordKind = 1
	ModeIsExclude   RecordKind = 2
	ChangeToInclude RecordKind = 3
	ChangeToExclude RecordKind = 4
	AllowNewSources RecordKind = 5
	BlockOldSources RecordKind = 6
)

// GroupRecord is a record of a report.
type GroupRecord struct {
	Kind    RecordKind
	Group   netip.Addr
	Sources []netip.Addr
}

// recordHeader is the length of a record before its group.
const recordHeader = 4

// Len returns the length of the record in a message, in bytes.
func (r *GroupRecord) Len() int { return recordHeader + (1+len(r.Sources))*r.Group.BitLen()/8 }

// appendRecords appends the records of a report.
func appendRecords(b []byte, all []GroupRecord) []byte {
	for _, r := range all {
		b = binary.BigEndian.AppendUint16(append(b, byte(r.Kind), 0), uint16(len(r.Sources)))
		b = appendAddr(b, r.Group)
		for _, s := range r.Sources {
			b = appendAddr(b, s)
		}
	}
	return b
}

// parseRecords reads the records of a report, n of them. Auxiliary data is skipped (RFC 3376,
// section 4.2.11), and so are records of unknown kinds.
func parseRecords(b []byte, n, size int) (all []GroupRecord, fault Fault) {
	for range n {
		if len(b) < recordHeader+size {
			return nil, Short
		}
		r := GroupRecord{Kind: RecordKind(b[0]), Group: addrAt(b[recordHeader:], size)}
		auxiliary, sources := int(b[1])*4, int(binary.BigEndian.Uint16(b[2:]))
		if b = b[recordHeader+size:]; len(b) < sources*size+auxiliary {
			return nil, Short
		}
		for i := range sources {
			r.Sources = append(r.Sources, addrAt(b[i*size:], size))
		}
		b = b[sources*size+auxiliary:]
		if r.Kind >= ModeIsInclude && r.Kind <= BlockOldSources && r.Group.IsMulticast() {
			all = append(all, r)
		}
	}
	return all, OK
}
