package wire

import (
	"encoding/binary"
	"time"
)

// Kinds of TCP options (RFC 9293, 7323, 2018, 5482, 7413).
const (
	optionEnd           = 0
	optionNop           = 1
	optionMSS           = 2
	optionScale         = 3
	optionSACKPermitted = 4
	optionSACK          = 5
	optionTimestamps    = 8
	optionUserTimeout   = 28
	optionFastOpen      = 34
)

// Block is a range of sequence numbers, from First up to but not including End.
type Block struct{ First, End Seq }

// MaxSACK is how many SACK blocks fit in a header without other options; with timestamps one fewer
// fits.
const MaxSACK = 4

// FastOpenCookie is a cookie of TCP Fast Open (RFC 7413, section 4.1.1): 4 to 16 bytes, an even
// number. The empty one requests a cookie.
type FastOpenCookie struct {
	Length uint8 // of Bytes that the cookie uses; the others are 0
	Bytes  [16]byte
}

// valid reports whether the cookie has a length that the option may have.
func (c *FastOpenCookie) valid() bool {
	return c.Length == 0 || c.Length >= 4 && int(c.Length) <= len(c.Bytes) && c.Length%2 == 0
}

// TCPOptions are the options of a TCP header.
type TCPOptions struct {
	MSS            uint16 // maximum segment size; 0: the option is absent
	HasWindowScale bool   // WindowScale is present
	WindowScale    uint8  // shift count; above 14 counts as 14 (RFC 7323, section 2.3)
	SACKPermitted  bool
	HasTimestamps  bool // TSVal and TSEcr are present
	TSVal, TSEcr   Timestamp
	UserTimeout    time.Duration // 0: the option is absent (RFC 5482)
	SACKCount      uint8         // number of blocks in SACK
	SACK           [MaxSACK]Block
	HasFastOpen    bool           // FastOpen is present; a SYN only has it
	FastOpen       FastOpenCookie // RFC 7413
}

// SACKBlocks returns the SACK blocks that are present.
func (o *TCPOptions) SACKBlocks() []Block { return o.SACK[:o.SACKCount] }

// ParseTCPOptions parses options. It skips unknown options, and known ones with a wrong length. At
// an option that does not fit in the header it stops: o holds the options before it, and fault
// reports it.
func ParseTCPOptions(b []byte) (o TCPOptions, fault Fault) {
	// fast path: timestamps only, as in nearly every segment
	if len(b) == 12 && binary.BigEndian.Uint32(b) == optionNop<<24|optionNop<<16|optionTimestamps<<8|10 {
		o.parseTimestamps(b[4:12])
		return o, OK
	}
	for len(b) > 0 {
		switch b[0] {
		case optionEnd:
			return o, OK
		case optionNop:
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return o, WrongOption
		}
		o.parse(b[0], b[2:b[1]])
		b = b[b[1]:]
	}
	return o, OK
}

// parse parses the value of one option.
func (o *TCPOptions) parse(kind byte, value []byte) {
	switch {
	case kind == optionMSS && len(value) == 2:
		o.MSS = binary.BigEndian.Uint16(value)
	case kind == optionScale && len(value) == 1:
		o.HasWindowScale, o.WindowScale = true, min(value[0], 14)
	case kind == optionSACKPermitted && len(value) == 0:
		o.SACKPermitted = true
	case kind == optionTimestamps && len(value) == 8:
		o.parseTimestamps(value)
	case kind == optionUserTimeout && len(value) == 2:
		o.UserTimeout = parseUserTimeout(binary.BigEndian.Uint16(value))
	case kind == optionSACK && len(value) > 0 && len(value)%8 == 0:
		o.SACKCount = 0
		for ; len(value) > 0 && o.SACKCount < MaxSACK; value = value[8:] {
			o.SACK[o.SACKCount] = Block{Seq(binary.BigEndian.Uint32(value)), Seq(binary.BigEndian.Uint32(value[4:]))}
			o.SACKCount++
		}
	case kind == optionFastOpen && len(value) <= len(o.FastOpen.Bytes):
		c := FastOpenCookie{Length: uint8(len(value))}
		copy(c.Bytes[:], value)
		if c.valid() {
			o.HasFastOpen, o.FastOpen = true, c
		}
	}
}

// parseTimestamps parses the value of a timestamps option.
func (o *TCPOptions) parseTimestamps(b []byte) {
	o.HasTimestamps, o.TSVal, o.TSEcr = true, Timestamp(binary.BigEndian.Uint32(b)), Timestamp(binary.BigEndian.Uint32(b[4:]))
}

// parseUserTimeout parses 15 bits of seconds, or of minutes if the first bit is set (RFC 5482,
// section 3).
func parseUserTimeout(v uint16) time.Duration {
	if v&0x8000 != 0 {
		return time.Duration(v&0x7fff) * time.Minute
	}
	return time.Duration(v) * time.Second
}

// Append appends the options in the order and with the padding of Linux. Their length is a multiple
// of 4. It is at most 40 for the options of a SYN, unless it has both a UserTimeout and a cookie of
// more than 14 bytes, and for timestamps with three SACK blocks. A UserTimeout is rounded up to
// whole seconds, or from 2^15 seconds on to whole minutes, at most 2^15-1 of them. The caller must
// not set more options than the 40 bytes have room for.
func (o *TCPOptions) Append(b []byte) []byte {
	if o.MSS != 0 {
		b = append(b, optionMSS, 4, byte(o.MSS>>8), byte(o.MSS))
	}
	switch {
	case o.HasTimestamps && o.SACKPermitted:
		b = append(b, optionSACKPermitted, 2, optionTimestamps, 10)
	case o.HasTimestamps:
		b = append(b, optionNop, optionNop, optionTimestamps, 10)
	case o.SACKPermitted:
		b = append(b, optionNop, optionNop, optionSACKPermitted, 2)
	}
	if o.HasTimestamps {
		b = binary.BigEndian.AppendUint32(b, uint32(o.TSVal))
		b = binary.BigEndian.AppendUint32(b, uint32(o.TSEcr))
	}
	if o.HasWindowScale {
		b = append(b, optionNop, optionScale, 3, o.WindowScale)
	}
	if o.UserTimeout > 0 {
		b = append(b, optionUserTimeout, 4)
		b = binary.BigEndian.AppendUint16(b, encodeUserTimeout(o.UserTimeout))
	}
	if o.SACKCount > 0 {
		b = append(b, optionNop, optionNop, optionSACK, 2+8*o.SACKCount)
		for _, block := range o.SACKBlocks() {
			b = binary.BigEndian.AppendUint32(b, uint32(block.First))
			b = binary.BigEndian.AppendUint32(b, uint32(block.End))
		}
	}
	if o.HasFastOpen {
		b = o.FastOpen.appendOption(b)
	}
	return b
}

// appendOption appends the option with the cookie, padded.
func (c *FastOpenCookie) appendOption(b []byte) []byte {
	b = append(b, optionFastOpen, 2+c.Length)
	b = append(b, c.Bytes[:c.Length]...)
	if c.Length%4 == 0 {
		b = append(b, optionNop, optionNop)
	}
	return b
}

// encodeUserTimeout is the inverse of parseUserTimeout.
func encodeUserTimeout(d time.Duration) uint16 {
	if seconds := (d + time.Second - 1) / time.Second; seconds < 1<<15 {
		return uint16(seconds)
	}
	return 0x8000 | uint16(min((d+time.Minute-1)/time.Minute, 1<<15-1))
}
