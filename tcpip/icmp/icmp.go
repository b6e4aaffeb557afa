// Package icmp builds and parses the errors of ICMPv4 (RFC 792, RFC 1122, RFC 1812) and ICMPv6 (RFC
// 4443) as pure functions: packets in, messages out.
//
// # Limitations
//
// Redirect, Timestamp and Address Mask messages of IPv4 are not parsed: a host should no longer
// obey them. Redirects of IPv6 are messages of neighbour discovery.
package icmp

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"weir/wire"
)

// MaxQuote is how much of a packet an error quotes, in bytes: as much as fits in an ICMP packet of
// 576 bytes (RFC 1812, section 4.3.2.3).
const MaxQuote = 576 - wire.IPv4Header - wire.ICMPHeader

// Quote returns the start of a packet for an error to quote; ok is false if no error may be sent
// about the packet (RFC 1122, section 3.2.2). None may be sent about ICMP errors, non-initial
// fragments, broadcasts and multicasts.
func Quote(p wire.IPv4, broadcast bool) (quote []byte, ok bool) {
	src := p.Src()
	switch {
	case broadcast, p.Dst().IsMulticast(), p.FragmentOffset() > 0, src.IsUnspecified(), src.IsMulticast():
		return nil, false
	case p.Protocol() == wire.ICMPv4Protocol && !isEcho(p.Payload()):
		return nil, false
	}
	return p[:min(len(p), MaxQuote)], true
}

// isEcho reports whether a message is an echo request or reply, which is not an error.
func isEcho(b []byte) bool {
	return len(b) > 0 && (wire.ICMPType(b[0]) == wire.EchoRequest || wire.ICMPType(b[0]) == wire.EchoReply)
}

// Problem is what an ICMP error reports.
type Problem uint8

// The problems that errors report.
const (
	NoProblem Problem = iota // not an error, or an unknown one of IPv4
	// NetUnreachable is a soft error: it may pass (RFC 1122, section 4.2.3.9; RFC 5461).
	NetUnreachable
	HostUnreachable     // soft
	ProtocolUnreachable // hard
	PortUnreachable     // hard
	TooBig              // Packet Too Big: the packet exceeded the path MTU with Don't Fragment set
	Prohibited          // administratively prohibited: soft
	TTLExceeded         // TTL exceeded in transit
	ReassemblyExceeded  // fragments did not arrive in time
	BadHeader           // a field or an option of the header is malformed
	UnknownOption       // an option of IPv6 is unknown, and must be known
	IncompleteChain     // a first fragment of IPv6 lacks headers of its packet
	UnknownError        // an error of IPv6 whose type is not known
)

// ErrorReport is a received ICMP error about a packet.
type ErrorReport struct {
	Problem Problem

	// The packet.
	Src, Dst     netip.Addr
	Protocol     wire.Protocol
	Transport    []byte // the start of its payload: at least 8 bytes
	Len          int    // its whole length, in bytes
	fragmentable bool   // routers were allowed to fragment it

	NextMTU int // of TooBig: the next-hop MTU; 0: the router did not report it
}

// Plausible reports whether a Packet Too Big can be true (RFC 5927, section 7.2): the packet had
// Don't Fragment set, was not larger than the link MTU, and was larger than the reported MTU. Every
// link of IPv6 has an MTU of 1,280 bytes or more (RFC 8201, section 4).
func (r *ErrorReport) Plausible(mtu int) bool {
	possible := r.Src.Is4() || r.NextMTU >= wire.IPv6MinMTU
	return r.Problem == TooBig && !r.fragmentable && r.Len <= mtu && r.NextMTU < r.Len && possible
}

// ParseError parses an ICMP error. ok is false for other messages, and for errors that quote too
// little or a non-initial fragment, which does not identify its sender.
func ParseError(m wire.ICMP) (r ErrorReport, ok bool) {
	body := m.Body()
	if len(body) < wire.IPv4Header || body[0]>>4 != 4 {
		return r, false
	}
	header := int(body[0]&15) * 4
	if header < wire.IPv4Header || len(body) < header+8 || wire.IPv4(body).FragmentOffset() > 0 {
		return r, false
	}
	quoted := wire.IPv4(body)
	r = ErrorReport{Problem: problem(m), Src: quoted.Src(), Dst: quoted.Dst(), Protocol: quoted.Protocol(), Transport: body[header:],
		Len: int(body[2])<<8 | int(body[3]), fragmentable: !quoted.DontFragment(), NextMTU: m.NextMTU()}
	return r, r.Problem != NoProblem
}

// problem classifies a message by its type and code.
func problem(m wire.ICMP) Problem {
	switch {
	case m.Type() == wire.TimeExceeded && m.Code() == wire.ReassemblyExceeded:
		return ReassemblyExceeded
	case m.Type() == wire.TimeExceeded:
		return TTLExceeded
	case m.Type() == wire.ParameterProblem:
		return BadHeader
	case m.Type() != wire.Unreachable:
		return NoProblem
	}
	switch m.Code() {
	case wire.NetUnreachable:
		return NetUnreachable
	case wire.HostUnreachable:
		return HostUnreachable
	case wire.ProtocolUnreachable:
		return ProtocolUnreachable
	case wire.PortUnreachable:
		return PortUnreachable
	case wire.FragmentationNeeded:
		return TooBig
	case wire.HostProhibited, wire.CommProhibited:
		return Prohibited
	}
	return HostUnreachable
}

// Limiter limits the rate of errors (RFC 1812, section 4.3.2.8). The cost of one error is random.
// Otherwise an attacker that counts the errors left over after its own, sent with a forged source
// address, learns which ports are open (Man et al., "DNS Cache Poisoning Attack Reloaded", 2020).
// It has one owner at a time.
type Limiter struct {
	rate, tokens float64       // tokens a second, tokens left
	updatedAt    time.Duration // when tokens was last computed
	rand         *rand.Rand
}

// randomCost is the cost of one error in tokens, 1 on average: see Limiter.
func randomCost(r *rand.Rand) float64 { return 2 * r.Float64() }

// groupCount is the number of groups of addresses with limits of their own.
const groupCount = 256

// GroupLimiter limits the rate of errors to each group of addresses, so that errors to one address
// do not use up the limit of all. It has one owner at a time.
type GroupLimiter struct {
	rate   float64 // of all errors, a second
	rand   *rand.Rand
	groups [groupCount]struct {
		spent     float64       // tokens of the burst that are spent
		updatedAt time.Duration // when spent was last computed
	}
}

// minGroupBurst is the smallest burst of errors to a group, for low rates.
const minGroupBurst = 10

// NewGroupLimiter allows each group a tenth of rate errors a second on average, and rate at once.
func NewGroupLimiter(rate int, r *rand.Rand) *GroupLimiter {
	return &GroupLimiter{rate: float64(rate), rand: r}
}

// Allow reports whether an error may be sent to an address with this hash. now must not go back.
func (s *GroupLimiter) Allow(hash uint64, now time.Duration) bool {
	b := &s.groups[hash%groupCount]
	b.spent = max(0, b.spent-(now-b.updatedAt).Seconds()*s.rate/10)
	b.updatedAt = now
	if b.spent+1 > max(s.rate, minGroupBurst) {
		return false
	}
	b.spent += randomCost(s.rand)
	return true
}

// NewLimiter allows rate errors a second on average, and ten times as many at once.
func NewLimiter(rate int, r *rand.Rand) Limiter {
	return Limiter{rate: float64(rate), tokens: 10 * float64(rate), rand: r}
}

// Allow reports whether an error may be sent. now must not go back.
func (l *Limiter) Allow(now time.Duration) bool {
	l.tokens = min(10*l.rate, l.tokens+(now-l.updatedAt).Seconds()*l.rate)
	l.updatedAt = now
	if l.tokens < 1 {
		return false
	}
	l.tokens -= randomCost(l.rand)
	return true
}
