package wire

import "encoding/binary"

// The extension headers that this package knows (RFC 8200, section 4).
const (
	HopByHop           Protocol = 0
	Routing            Protocol = 43
	FragmentHeader     Protocol = 44
	NoNextHeader       Protocol = 59
	DestinationOptions Protocol = 60
)

// Limits on the extension headers of a packet (RFC 8504, section 5.3, lets a host set some).
const (
	maxExtensions  = 8   // extension headers
	maxOptions     = 16  // options of all of them, without padding
	maxOptionBytes = 512 // length of all headers with options
)

// FragmentLen is the length of a fragment header, in bytes.
const FragmentLen = 8

// Extensions is what the extension headers of a packet say.
type Extensions struct {
	Protocol Protocol // of the payload
	Payload  []byte   // what follows the last header that was read

	// Fragment is the fragment header; nil: none. Nothing behind it was read: Protocol is its
	// Next Header field, and Payload the fragment.
	Fragment Fragment
	// offset in the packet of the Next Header field that names Protocol
	NextHeaderAt int
	RouterAlert  bool // the Hop-by-Hop header has a Router Alert option (RFC 2711)

	// Of a packet with a fault, unless it is silent: the Parameter Problem that its source must
	// get. ProblemAt is the offset of the fault in the packet.
	Problem   ParameterCode
	ProblemAt int
	// the fault is not reported, or not if the packet was for a group
	Silent, SilentToGroups bool
}

// ParameterCode is the code of an ICMPv6 Parameter Problem.
type ParameterCode uint8

// The codes of a Parameter Problem (RFC 4443, section 3.4).
const (
	ErroneousField    ParameterCode = 0
	UnknownNextHeader ParameterCode = 1
	UnknownOption     ParameterCode = 2
	// IncompleteChain is a first fragment without all headers of its packet (RFC 7112, section 6)
	IncompleteChain ParameterCode = 3
)

// Fragment is a fragment header (RFC 8200, section 4.5).
type Fragment []byte

// Offset is the offset of the fragment in the packet's fragmentable part, in bytes.
func (f Fragment) Offset() int { return int(binary.BigEndian.Uint16(f[2:4]) &^ 7) }

// MoreFragments reports whether it is not the last fragment.
func (f Fragment) MoreFragments() bool { return f[3]&1 != 0 }

// ID is the Identification: the fragments of a packet share it.
func (f Fragment) ID() uint32 { return binary.BigEndian.Uint32(f[4:8]) }

// AppendFragment appends a fragment header. offset is a multiple of 8.
func AppendFragment(b []byte, next Protocol, offset int, more bool, id uint32) []byte {
	b = append(b, byte(next), 0)
	last := uint16(offset)
	if more {
		last |= 1
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, last), id)
}

// ParseExtensions reads the extension headers of a packet, up to a fragment header. Faults are
// Short, WrongLength and WrongOption. A next header that this package does not know is a protocol,
// for the caller to judge.
func ParseExtensions(p IPv6) (x Extensions, fault Fault) {
	x = Extensions{Protocol: p.NextHeader(), Payload: p.Payload(), NextHeaderAt: 6}
	var w extensionWalk
	for {
		at := len(p) - len(x.Payload)
		switch x.Protocol {
		case HopByHop, Routing, DestinationOptions:
			if fault = w.header(&x, at); fault != OK {
				return x, fault
			}
		case FragmentHeader:
			if len(x.Payload) < FragmentLen {
				x.Silent = true
				return x, Short
			}
			x.Fragment = Fragment(x.Payload[:FragmentLen])
			x.Protocol, x.Payload, x.NextHeaderAt = Protocol(x.Fragment[0]), x.Payload[FragmentLen:], at
			return x, OK
		default:
			return x, OK
		}
	}
}

// UpperLayer skips the extension headers at the start of b, without judging them; next names the
// first. It returns the protocol of the header behind them and what starts with that header. ok is
// false if b ends before it, or is not the first fragment of its packet.
func UpperLayer(next Protocol, b []byte) (protocol Protocol, rest []byte, ok bool) {
	for {
		length := 0
		switch {
		case next != HopByHop && next != Routing && next != DestinationOptions && next != FragmentHeader:
			return next, b, true
		case len(b) < 8:
			return next, nil, false
		case next == FragmentHeader:
			if Fragment(b).Offset() > 0 {
				return Protocol(b[0]), nil, false
			}
			length = FragmentLen
		default:
			length = int(b[1])*8 + 8
		}
		if len(b) < length {
			return next, nil, false
		}
		next, b = Protocol(b[0]), b[length:]
	}
}

// extensionWalk counts what the headers of a packet have, against the limits.
type extensionWalk struct{ headers, options, bytes int }

// header reads one header that has the usual form: next header, length in 8 bytes less 8.
func (w *extensionWalk) header(x *Extensions, at int) Fault {
	b := x.Payload
	if w.headers++; w.headers > maxExtensions {
		x.Silent = true
		return WrongLength
	}
	if len(b) < 8 || len(b) < int(b[1])*8+8 {
		x.Silent = true
		return Short
	}
	b = b[:int(b[1])*8+8]
	switch {
	case x.Protocol == HopByHop && w.headers > 1: // only directly behind the IPv6 header
		x.Problem, x.ProblemAt = UnknownNextHeader, x.NextHeaderAt
		return WrongOption
	case x.Protocol == Routing:
		// segments left of a type that a host does not know (RFC 8200, section 4.4; RFC 5095)
		if b[3] != 0 {
			x.Problem, x.ProblemAt = ErroneousField, at+2
			return WrongOption
		}
	default:
		if fault := w.readOptions(x, b, at); fault != OK {
			return fault
		}
	}
	x.Protocol, x.NextHeaderAt, x.Payload = Protocol(b[0]), at, x.Payload[len(b):]
	return OK
}

// Options of the Hop-by-Hop and Destination Options headers.
const (
	pad1        = 0
	padN        = 1
	routerAlert = 5
)

// readOptions reads the options of a header at an offset of the packet (RFC 8200, section 4.2).
func (w *extensionWalk) readOptions(x *Extensions, header []byte, at int) Fault {
	if w.bytes += len(header); w.bytes > maxOptionBytes {
		x.Silent = true
		return WrongLength
	}
	for i := 2; i < len(header); {
		kind := header[i]
		if kind == pad1 {
			i++
			continue
		}
		if i+2 > len(header) || i+2+int(header[i+1]) > len(header) {
			x.Problem, x.ProblemAt = ErroneousField, at+i
			return WrongOption
		}
		if fault := w.option(x, kind, at+i); fault != OK {
			return fault
		}
		i += 2 + int(header[i+1])
	}
	return OK
}

// option judges one option. The two highest bits of an unknown one say what a host does.
func (w *extensionWalk) option(x *Extensions, kind byte, at int) Fault {
	if kind == padN {
		return OK
	}
	if w.options++; w.options > maxOptions {
		x.Silent = true
		return WrongLength
	}
	if kind == routerAlert {
		x.RouterAlert = true
		return OK
	}
	x.Problem, x.ProblemAt = UnknownOption, at
	switch kind >> 6 {
	case 0:
		x.Problem, x.ProblemAt = 0, 0
		return OK
	case 1:
		x.Silent = true
	case 3:
		x.SilentToGroups = true
	}
	return WrongOption
}
