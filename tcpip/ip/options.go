package ip

import (
	"encoding/binary"
	"net/netip"
)

// Kinds of options (RFC 791, section 3.1).
const (
	endOfList       = 0
	noOperation     = 1
	recordRoute     = 7
	timestamps      = 68
	looseRoute      = 131
	strictRoute     = 137
	optionHead      = 2 // kind and length
	recordFirst     = 4 // the smallest pointer: it counts from 1, behind kind, length and itself
	timestampsFirst = 5
)

// Options are a header's, as they stand.
type Options []byte

// Verdict is what is wrong with options.
type Verdict uint8

// The verdicts. Kinds that are not known are no fault: they are to be passed over (RFC 1122,
// section 3.2.1.8).
const (
	Good   Verdict = iota
	Broken         // one does not fit into the header, or its pointer cannot be
	// they say by which way the packet is to go: an attack (RFC 6274, section 3.13.2.3)
	Routed
)

// Check looks through options. Of a broken one it says where in the options the fault is.
func (o Options) Check() (v Verdict, at int) {
	for i, option := range o.each {
		if option == nil {
			return Broken, i
		}
		switch kind := option[0]; {
		case kind == looseRoute || kind == strictRoute:
			return Routed, i
		case kind == recordRoute && (len(option) < 3 || option[2] < recordFirst), kind == timestamps && (len(option) < 4 || option[2] < timestampsFirst):
			return Broken, i + min(2, len(option)-1)
		}
	}
	return Good, 0
}

// each gives the options that have a length, and where they stand; nil for one that does not fit,
// which is the last.
func (o Options) each(yield func(at int, option []byte) bool) {
	for i := 0; i < len(o) && o[i] != endOfList; {
		if o[i] == noOperation {
			i++
			continue
		}
		if len(o)-i < optionHead || int(o[i+1]) < optionHead || int(o[i+1]) > len(o)-i {
			yield(i, nil)
			return
		}
		length := int(o[i+1])
		if !yield(i, o[i:i+length]) {
			return
		}
		i += length
	}
}

// Answer is the options that the answer to an echo has: the route and the times of a request,
// brought up to date (RFC 1122, section 3.2.2.6), so that they tell of the round trip. They are
// padded to a multiple of 4. ms is the time since midnight UT.
func (o Options) Answer(own netip.Addr, ms uint32) []byte {
	var answer []byte
	for _, option := range o.each {
		if option == nil {
			return nil
		}
		switch kind := option[0]; {
		case kind == recordRoute && len(option) >= 3:
			answer = append(answer, option...)
			record(answer[len(answer)-len(option):], own)
		case kind == timestamps && len(option) >= 4:
			answer = append(answer, option...)
			stamp(answer[len(answer)-len(option):], own, ms)
		}
	}
	for len(answer)%4 != 0 {
		answer = append(answer, endOfList)
	}
	return answer
}

// record writes an address into a route, if there is room.
func record(o []byte, own netip.Addr) {
	if at := int(o[2]); at >= recordFirst && at+3 <= len(o) {
		a := own.As4()
		copy(o[at-1:], a[:])
		o[2] += 4
	}
}

// What the second half of a timestamp option's fourth byte says is wanted.
const (
	timesOnly       = 0
	withAddresses   = 1
	ofThoseAsked    = 3
	overflowed      = 0x10 // in the first half: one host more that found no room
	overflowsAtMost = 0xf0
)

// stamp writes a time, in ms since midnight UT, into timestamps, if it is asked for and there is
// room.
func stamp(o []byte, own netip.Addr, ms uint32) {
	at, size := int(o[2])-1, 8
	if o[3]&0xf == timesOnly {
		size = 4
	}
	if at < timestampsFirst-1 {
		return
	}
	if at+size > len(o) {
		if o[3]&overflowsAtMost != overflowsAtMost && o[3]&0xf != ofThoseAsked {
			o[3] += overflowed
		}
		return
	}
	a := own.As4()
	switch o[3] & 0xf {
	case withAddresses:
		copy(o[at:], a[:])
	case ofThoseAsked:
		if [4]byte(o[at:at+4]) != a {
			return
		}
	case timesOnly:
	default:
		return
	}
	binary.BigEndian.PutUint32(o[at+size-4:], ms)
	o[2] += byte(size)
}
