package tcp

import (
	"time"

	"weir/wire"
)

// SYN cookies (RFC 4987, section 3.6) let a listener answer SYNs when it can store no more
// half-open connections. The initial sequence number and the timestamp of the SYN,ACK encode the
// connection, and the last segment of the handshake returns them. As in Linux, the sequence number
// encodes the peer's own, a coarse time and one of four MSS values, hidden by a keyed hash. The low
// bits of the timestamp encode the window scale, SACK and ECN; a peer without timestamps gets none
// of these.

// CookieHash is a keyed hash of a connection's addresses and ports, of kind and of count. The key
// is secret.
type CookieHash func(kind byte, count uint32) uint32

const (
	cookieTick   = 64 * time.Second
	cookieMaxAge = 2 // ticks that a cookie is valid for: its own and the next

	// CookieLifetime is how long a cookie is valid at most.
	CookieLifetime = cookieMaxAge * cookieTick

	cookieTSBits    = 6    // low bits of the timestamp that encode options
	cookieScaleMask = 0x0f // among them: the window scale; cookieNoScale: none
	cookieNoScale   = 0x0f
	cookieSACKBit   = 0x10
	cookieECNBit    = 0x20
)

// cookieSizes are the MSS values that a cookie can encode, ascending: the most common ones, as in
// Linux.
var cookieSizes = [...]uint16{536, 1300, 1440, 1460}

// cookieTicks is the number of cookieTick periods until now.
func cookieTicks(now Time) uint32 { return uint32(now / Time(cookieTick)) }

// CookieSYNACK returns the SYN,ACK with a cookie that answers a SYN. The listener stores nothing.
func CookieSYNACK(cfg *Config, h CookieHash, tsOffset uint32, syn *Segment, now Time) OutSegment {
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
		s.Options.TSVal = cookieStamp(uint32(now/1e6)+tsOffset, bits)
	}
	return s
}

// cookieOptions sets the options of the SYN,ACK and returns the bits of the timestamp that encode
// them. The peer uses timestamps.
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

// cookieStamp returns a timestamp not after now, with bits in its low bits.
func cookieStamp(now, bits uint32) wire.Timestamp {
	ts := now>>cookieTSBits<<cookieTSBits | bits
	if ts > now {
		ts -= 1 << cookieTSBits
	}
	return wire.Timestamp(ts)
}

// AcceptCookie creates the connection whose cookie a segment returns; nil if the segment returns no
// valid cookie.
func AcceptCookie(cfg *Config, h CookieHash, tsOffset uint32, s *Segment, now Time) *Conn {
	if s.Flags&(wire.ACK|wire.SYN|wire.RST) != wire.ACK {
		return nil
	}
	count := cookieTicks(now)
	cookie := uint32(s.Ack.Add(-1)) - h(0, 0) - uint32(s.Seq.Add(-1))
	age := (count - cookie>>24) & 0xff
	size := (cookie - h(1, count-age)) & 0xff_ffff
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
	c := Accept(cfg, s.Ack.Add(-1), tsOffset, &syn, now)
	c.synPending = false
	c.rcvWndEdge = c.rcvNxt.Add(int(synWindow(cfg)))
	c.lastAckSent = c.rcvNxt
	c.Arrive(now, s)
	return c
}
