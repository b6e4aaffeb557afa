package tcp

import (
	"time"

	"weir/wire"
)

// Cookies are what a listener answers with that can keep no more half-open connections: the initial
// sequence number and the timestamp of the answer hold all that there is to know, and come back
// with the handshake's last segment (RFC 4987, section 3.6). As in Linux, a sequence number holds
// the peer's own, the time in minutes or so, and one of four segment sizes, hidden by a keyed hash;
// the last bits of the timestamp hold the window scale and whether there are SACK and ECN. A peer
// without timestamps has neither.

// Hash is a secret function of a connection's name, and of two numbers more.
type CookieHash func(kind byte, count uint32) uint32

const (
	cookieTick   = 64 * time.Second
	cookieMaxAge = 2 // ticks that a cookie lives: at least the one after its own

	// CookieLife is for how long a cookie may come back.
	CookieLifetime = cookieMaxAge * cookieTick

	cookieTSBits    = 6    // of the timestamp
	cookieScaleMask = 0x0f // of them: the window scale; noScale: none
	cookieNoScale   = 0x0f
	cookieSACKBit   = 0x10
	cookieECNBit    = 0x20
)

// cookieSizes are the segment sizes that a cookie can say, in order: what there mostly is, as Linux
// has them.
var cookieSizes = [...]uint16{536, 1300, 1440, 1460}

func cookieTicks(now Time) uint32 { return uint32(now / Time(cookieTick)) }

// CookieAnswer is what answers a SYN, with nothing kept.
func CookieSYNACK(cfg *Config, h CookieHash, skew uint32, syn *Segment, now Time) OutSegment {
	size := 0
	for size+1 < len(cookieSizes) && cookieSizes[size+1] <= syn.Options.MSS {
		size++
	}
	count := cookieTicks(now)
	iss := h(0, 0) + uint32(syn.Seq) + count<<24 + (h(1, count)+uint32(size))&0xff_ffff
	s := OutSegment{Seq: wire.Seq(iss), Ack: syn.Seq.Add(1), Flags: wire.SYN | wire.ACK, Window: synWindow(cfg)}
	s.Options.MSS = uint16(cfg.MSS)
	if syn.Options.HasTimestamps && !cfg.NoTimestamps {
		bits := cookieOptions(cfg, &syn.Options, &s.Options)
		if cfg.ECN != NoECN && syn.Flags&ecnSetup == ecnSetup {
			bits |= cookieECNBit
			s.Flags |= wire.ECE
		}
		s.Options.TSVal = cookieStamp(uint32(now/1e6)+skew, bits)
	}
	return s
}

// cookieOptions are the answer's when there are timestamps, and what the timestamp is to say of
// them.
func cookieOptions(cfg *Config, syn, o *wire.TCPOptions) (bits uint32) {
	o.HasTimestamps, o.TSEcr = true, syn.TSVal
	bits = cookieNoScale
	if o.HasWindowScale = syn.HasWindowScale && !cfg.NoWindowScaling; o.HasWindowScale {
		o.WindowScale = scaleFor(cfg)
		bits = uint32(min(syn.WindowScale, 14))
	}
	if o.SACKPermitted = syn.SACKPermitted && !cfg.NoSACK; o.SACKPermitted {
		bits |= cookieSACKBit
	}
	return bits
}

// cookieStamp is a timestamp that says something in its last bits, and is not later than now.
func cookieStamp(now, bits uint32) wire.Timestamp {
	told := now>>cookieTSBits<<cookieTSBits | bits
	if told > now {
		told -= 1 << cookieTSBits
	}
	return wire.Timestamp(told)
}

// AcceptCookie is the connection that a segment opens which answers a cookie; nil: it answers none.
func AcceptCookie(cfg *Config, h CookieHash, skew uint32, s *Segment, now Time) *Conn {
	if s.Flags&(wire.ACK|wire.SYN|wire.RST) != wire.ACK {
		return nil
	}
	count := cookieTicks(now)
	told := uint32(s.Ack.Add(-1)) - h(0, 0) - uint32(s.Seq.Add(-1))
	age := (count - told>>24) & 0xff
	size := (told - h(1, count-age)) & 0xff_ffff
	if age >= cookieMaxAge || size >= uint32(len(cookieSizes)) {
		return nil
	}
	syn := Segment{Seq: s.Seq.Add(-1), Flags: wire.SYN, Window: s.Window}
	o := &syn.Options
	o.MSS = cookieSizes[size]
	if s.Options.HasTimestamps && !cfg.NoTimestamps {
		bits := uint8(s.Options.TSEcr)
		o.HasTimestamps, o.TSVal = true, s.Options.TSVal
		o.SACKPermitted = bits&cookieSACKBit != 0
		if bits&cookieECNBit != 0 {
			syn.Flags |= ecnSetup
		}
		o.HasWindowScale, o.WindowScale = bits&cookieScaleMask != cookieNoScale, bits&cookieScaleMask
	}
	c := Accept(cfg, s.Ack.Add(-1), skew, &syn, now)
	c.synPending = false
	c.rcvWndEdge = c.rcvNxt.Add(int(synWindow(cfg)))
	c.lastAckSent = c.rcvNxt
	c.Arrive(now, s)
	return c
}
