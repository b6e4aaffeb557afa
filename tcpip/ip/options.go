package ip

import (
	"encoding/binary"
	"net/netip"
)

// Kinds of options, and their layout (RFC 791, section 3.1).
const (
	endOfList       = 0
	noOperation     = 1
	recordRoute     = 7
	timestamps      = 68
	looseRoute      = 131
	strictRoute     = 137
	optionHeaderLen = 2 // kind and length
	// smallest pointer: it counts from 1 and follows kind, length and pointer
	minRoutePointer     = 4
	minTimestampPointer = 5
)

// Options are the raw options of a header.
type Options []byte

// Verdict is the result of checking options.
type Verdict uint8

// The verdicts. Unknown kinds are valid: they must be ignored (RFC 1122, section 3.2.1.8).
const (
	Valid           Verdict = iota
	MalformedOption         // an option does not fit in the header, or its pointer is impossible
	// SourceRouted options prescribe the route of the packet: an attack (RFC 6274, section
	// 3.13.2.3).
	SourceRouted
)

// Check checks options. Of a malformed one it returns the offset of the fault.
func (o Options) Check() (v Verdict, at int) {
	for i, option := range o.each {
		if option == nil {
			return MalformedOption, i
		}
		switch kind := option[0]; {
		case kind == looseRoute || kind == strictRoute:
			return SourceRouted, i
		case kind == recordRoute && (len(option) < 3 || option[2] < minRoutePointer), kind == timestamps && (len(option) < 4 || option[2] < minTimestampPointer):
			return MalformedOption, i + min(2, len(option)-1)
		}
	}
	return Valid, 0
}

// each yields the options that have a length with their offsets, and nil for one that does not fit,
// which is the last.
func (o Options) each(yield func(at int, option []byte) bool) {
	for i := 0; i < len(o) && o[i] != endOfList; {
		if o[i] == noOperation {
			i++
			continue
		}
		if len(o)-i < optionHeaderLen || int(o[i+1]) < optionHeaderLen || int(o[i+1]) > len(o)-i {
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

// EchoReply returns the options of the reply to an echo request: its Record Route and Timestamp
// options, updated (RFC 1122, section 3.2.2.6), so that they cover the round trip. They are padded
// to a multiple of 4. ms is the time since midnight UT.
func (o Options) EchoReply(own netip.Addr, ms uint32) []byte {
	var reply []byte
	for _, option := range o.each {
		if option == nil {
			return nil
		}
		switch kind := option[0]; {
		case kind == recordRoute && len(option) >= 3:
			reply = append(reply, option...)
			recordAddress(reply[len(reply)-len(option):], own)
		case kind == timestamps && len(option) >= 4:
			reply = append(reply, option...)
			recordTimestamp(reply[len(reply)-len(option):], own, ms)
		}
	}
	for len(reply)%4 != 0 {
		reply = append(reply, endOfList)
	}
	return reply
}

// recordAddress adds an address to a Record Route option if there is room.
func recordAddress(o []byte, own netip.Addr) {
	if at := int(o[2]); at >= minRoutePointer && at+3 <= len(o) {
		a := own.As4()
		copy(o[at-1:], a[:])
		o[2] += 4
	}
}

// The flags of a Timestamp option: the low half of its fourth byte; the high half counts overflows.
const (
	timesOnly         = 0
	withAddresses     = 1
	prespecified      = 3
	overflowIncrement = 0x10 // one more host that found no room
	overflowMask      = 0xf0
)

// recordTimestamp adds a time, in ms since midnight UT, to a Timestamp option if it is requested
// and there is room.
func recordTimestamp(o []byte, own netip.Addr, ms uint32) {
	at, size := int(o[2])-1, 8
	if o[3]&0xf == timesOnly {
		size = 4
	}
	if at < minTimestampPointer-1 {
		return
	}
	if at+size > len(o) {
		if o[3]&overflowMask != overflowMask && o[3]&0xf != prespecified {
			o[3] += overflowIncrement
		}
		return
	}
	a := own.As4()
	switch o[3] & 0xf {
	case withAddresses:
		copy(o[at:], a[:])
	case prespecified:
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
