// Package icmp makes and reads the errors of ICMPv4 (RFC 792, RFC 1122, RFC 1812), purely: packets
// in, messages out.
//
// # Limitations
//
// Redirects, timestamps and address masks are not known: nobody should obey them any more.
package icmp

import (
	"math/rand/v2"
	"time"

	"weir/wire"
)

// quoted is how much of a packet an error quotes: as much as fits into 576 bytes (RFC 1812, section 4.3.2.3).
const quoted = 576 - wire.IPv4Header - wire.ICMPHeader

// Quote is the begin of a packet that an error is about, and whether there may be an error about it
// at all (RFC 1122, section 3.2.2): not about errors, fragments but the first, and packets for or
// from more than one.
func Quote(p wire.IPv4, everybody bool) ([]byte, bool) {
	src := p.Src()
	switch {
	case everybody, p.Dst().IsMulticast(), p.FragmentOffset() > 0, src.IsUnspecified(), src.IsMulticast():
		return nil, false
	case p.Protocol() == wire.ICMPv4Protocol && !question(p.Payload()):
		return nil, false
	}
	return p[:min(len(p), quoted)], true
}

// question says whether a message is none of the errors.
func question(b []byte) bool {
	return len(b) > 0 && (wire.ICMPType(b[0]) == wire.EchoRequest || wire.ICMPType(b[0]) == wire.EchoReply)
}

// Problem is what an error says.
type Problem uint8

// The problems.
const (
	Nothing Problem = iota // none of those that are known
	// a soft error: it may pass (RFC 1122, section 4.2.3.9; RFC 5461)
	NetUnreachable
	HostUnreachable     // likewise
	ProtocolUnreachable // hard
	PortUnreachable     // hard
	TooBig              // the packet was too big for the path, and must not be cut
	Prohibited          // an administrator says no: soft
	Expired             // the packet went too far
)

// Report is an error about a packet that the stack sent, if it is one.
type Report struct {
	Problem Problem
	// the begin of the packet: header whole, and at least 8 bytes of what it carried; its length
	// field is that of the whole
	About   wire.IPv4
	Length  int // of the whole packet
	NextMTU int // of TooBig; 0: not said
}

// Possible says whether a report that a packet was too big can be true (RFC 5927, section 7.2): the
// packet was not to be cut, was no larger than the link takes, and was larger than what is said to
// be taken.
func (r *Report) Possible(mtu int) bool {
	return r.Problem == TooBig && r.About.DontFragment() && r.Length <= mtu && r.NextMTU < r.Length
}

// Read reads an error; ok is false for everything else, and for errors that quote too little, or a
// fragment but the first: whose that was it does not say.
func Read(m wire.ICMP) (r Report, ok bool) {
	body := m.Body()
	if len(body) < wire.IPv4Header || body[0]>>4 != 4 {
		return r, false
	}
	header := int(body[0]&15) * 4
	if header < wire.IPv4Header || len(body) < header+8 || wire.IPv4(body).FragmentOffset() > 0 {
		return r, false
	}
	r.About, r.Length = wire.IPv4(body), int(body[2])<<8|int(body[3])
	r.Problem = problem(m)
	r.NextMTU = m.NextMTU()
	return r, r.Problem != Nothing
}

func problem(m wire.ICMP) Problem {
	switch {
	case m.Type() == wire.TimeExceeded && m.Code() == wire.TransitExceeded:
		return Expired
	case m.Type() != wire.Unreachable:
		return Nothing
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

// Limiter is how often errors may be sent (RFC 1812, section 4.3.2.8). What one takes of the
// allowance is left to chance: who could count how many are left after those that he had sent with
// another's address would know which ports are open (Man et al., "DNS Cache Poisoning Attack
// Reloaded", 2020). It has one owner at a time.
type Limiter struct {
	rate, tokens float64
	at           time.Duration
	rand         *rand.Rand
}

// spent is what one error takes of an allowance, 1 on average: who could count how many are left
// would know what others had (see Limiter).
func spent(r *rand.Rand) float64 { return 2 * r.Float64() }

// shares are how many groups of addresses have allowances of their own.
const shares = 256

// Shares are how often errors may be sent to those of one group of addresses, so that whoever has
// many sent to one does not use up the allowance of all. They have one owner at a time.
type Shares struct {
	rate float64
	rand *rand.Rand
	all  [shares]struct {
		spent float64 // of burst
		at    time.Duration
	}
}

// leastShare is how many errors may go to a group at once where the rate is low.
const leastShare = 10

// NewShares lets a tenth of so many a second pass to each group on average, and so many at once.
func NewShares(rate int, r *rand.Rand) *Shares { return &Shares{rate: float64(rate), rand: r} }

// Allow reports whether one may be sent to an address of this hash at a time, which does not go
// back.
func (s *Shares) Allow(hash uint64, now time.Duration) bool {
	b := &s.all[hash%shares]
	b.spent = max(0, b.spent-(now-b.at).Seconds()*s.rate/10)
	b.at = now
	if b.spent+1 > max(s.rate, leastShare) {
		return false
	}
	b.spent += spent(s.rand)
	return true
}

// NewLimiter lets so many a second pass on average, ten times as many at once.
func NewLimiter(rate int, r *rand.Rand) Limiter {
	return Limiter{rate: float64(rate), tokens: 10 * float64(rate), rand: r}
}

// Allow says whether one may be sent at a time, which does not go back.
func (l *Limiter) Allow(now time.Duration) bool {
	l.tokens = min(10*l.rate, l.tokens+(now-l.at).Seconds()*l.rate)
	l.at = now
	if l.tokens < 1 {
		return false
	}
	l.tokens -= spent(l.rand)
	return true
}
