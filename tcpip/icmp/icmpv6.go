package icmp

import (
	"net/netip"

	"weir/wire"
)

// maxQuote6 is how much of a packet of IPv6 an error quotes, in bytes: as much as fits in a packet
// of the smallest MTU (RFC 4443, section 2.4 (c)).
const maxQuote6 = wire.IPv6MinMTU - wire.IPv6Header - wire.ICMPHeader

// QuoteV6 is Quote for a packet of IPv6 (RFC 4443, section 2.4 (e)). About a packet to a group,
// only a Packet Too Big and an UnknownOption may be reported.
func QuoteV6(p wire.IPv6, group bool, what Problem) (quote []byte, ok bool) {
	src := p.Src()
	if src.IsUnspecified() || src.IsMulticast() || (group || p.Dst().IsMulticast()) && what != UnknownOption && what != TooBig {
		return nil, false
	}
	if protocol, message, ok := wire.UpperLayer(p.NextHeader(), p.Payload()); protocol == wire.ICMPv6Protocol {
		if !ok || len(message) == 0 || !isInformational(wire.ICMPv6Type(message[0])) {
			return nil, false
		}
	}
	return p[:min(len(p), maxQuote6)], true
}

// isInformational reports whether an error may be sent about a message of this type: about errors
// and redirects, none may.
func isInformational(t wire.ICMPv6Type) bool { return t >= 128 && t != wire.Redirect6 }

// AppendErrorV6 is AppendError for a packet of IPv6. src and dst are the addresses of the error.
func AppendErrorV6(b []byte, src, dst netip.Addr, what Problem, at int, quote []byte) []byte {
	t, code, rest := wire.Unreachable6, uint8(wire.AddrUnreachable6), uint32(0)
	switch what {
	case PortUnreachable:
		code = wire.PortUnreachable6
	case NetUnreachable:
		code = wire.NoRoute6
	case Prohibited:
		code = wire.Prohibited6
	case ReassemblyExceeded:
		t, code = wire.TimeExceeded6, wire.ReassemblyExceeded
	case ProtocolUnreachable:
		t, code, rest = wire.ParameterProblem6, uint8(wire.UnknownNextHeader), uint32(at)
	case UnknownOption:
		t, code, rest = wire.ParameterProblem6, uint8(wire.UnknownOption), uint32(at)
	case IncompleteChain:
		t, code = wire.ParameterProblem6, uint8(wire.IncompleteChain)
	case BadHeader:
		t, code, rest = wire.ParameterProblem6, uint8(wire.ErroneousField), uint32(at)
	}
	return wire.AppendICMPv6(b, src, dst, t, code, rest, quote)
}

// ParseErrorV6 is ParseError for an error of IPv6.
func ParseErrorV6(m wire.ICMPv6) (r ErrorReport, ok bool) {
	body := m.Body()
	if len(body) < wire.IPv6Header || body[0]>>4 != 6 {
		return r, false
	}
	length := wire.IPv6Header + int(body[4])<<8 + int(body[5])
	quoted := wire.IPv6(body[:min(len(body), length)])
	x, fault := wire.ParseExtensions(quoted)
	if fault != wire.OK || len(x.Payload) < 8 || x.Fragment != nil && x.Fragment.Offset() > 0 {
		return r, false
	}
	r = ErrorReport{Problem: problemV6(m), Src: quoted.Src(), Dst: quoted.Dst(), Protocol: x.Protocol, Transport: x.Payload, Len: length}
	if r.Problem == TooBig {
		r.NextMTU = int(min(m.RestOfHeader(), 1<<16))
	}
	return r, r.Problem != NoProblem
}

// problemV6 classifies a message by its type and code (RFC 4443, section 3). Errors have the types
// below 128; the upper layer gets those of an unknown type, too (section 2.4 (a)).
func problemV6(m wire.ICMPv6) Problem {
	switch t := m.Type(); {
	case t >= wire.EchoRequest6:
		return NoProblem
	case t == wire.PacketTooBig6:
		return TooBig
	case t == wire.TimeExceeded6 && m.Code() == wire.ReassemblyExceeded:
		return ReassemblyExceeded
	case t == wire.TimeExceeded6:
		return TTLExceeded
	case t == wire.ParameterProblem6:
		return parameterProblem(wire.ParameterCode(m.Code()))
	case t == wire.Unreachable6:
		return unreachableV6(m.Code())
	}
	return UnknownError
}

// parameterProblem classifies a Parameter Problem. A code that is not known is as bad as a bad
// header.
func parameterProblem(code wire.ParameterCode) Problem {
	switch code {
	case wire.UnknownNextHeader:
		return ProtocolUnreachable
	case wire.UnknownOption:
		return UnknownOption
	case wire.IncompleteChain:
		return IncompleteChain
	}
	return BadHeader
}

// unreachableV6 classifies a Destination Unreachable.
func unreachableV6(code uint8) Problem {
	switch code {
	case wire.NoRoute6:
		return NetUnreachable
	case wire.PortUnreachable6:
		return PortUnreachable
	case wire.Prohibited6, wire.SourcePolicy6, wire.RejectRoute6:
		return Prohibited
	}
	return HostUnreachable
}
