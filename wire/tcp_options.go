package wire

import (
	"encoding/binary"
	"time"
)

// Kinds of TCP options (RFC 9293, 7323, 2018, 5482).
const (
	optionEnd           = 0
	optionNop           = 1
	optionMSS           = 2
	optionScale         = 3
	optionSACKPermitted = 4
	optionSACK          = 5
	optionTimestamps    = 8
	optionUserTimeout   = 28
)

// Block is a piece of a stream, from First to before End.
type Block struct{ First, End Seq }

// MaxSACK is how many blocks fit in a header with no other option; with timestamps one fewer does.
const MaxSACK = 4

// TCPOptions are a header's options.
type TCPOptions struct {
	MSS            uint16 // largest segment that the sender takes; 0: not given
	HasWindowScale bool   // Scale is given
	WindowScale    uint8  // of windows; over 14 counts as 14 (RFC 7323, section 2.3)
	SACKPermitted  bool
	HasTimestamps  bool // Stamp and Echo are given
	TSVal, TSEcr   Timestamp
	UserTimeout    time.Duration // 0: not given (RFC 5482)
	SACKCount      uint8         // how many of SACK are given
	SACK           [MaxSACK]Block
}

// SACKBlocks are those that are given.
func (o *TCPOptions) SACKBlocks() []Block { return o.SACK[:o.SACKCount] }

// ParseTCPOptions reads options. Those that are not known are passed over, and so are known ones of
// another length than theirs. At one that does not fit into the header reading ends: o is what was
// read before, and the fault says so.
func ParseTCPOptions(b []byte) (o TCPOptions, fault Fault) {
	// what nearly every segment has
	if len(b) == 12 && binary.BigEndian.Uint32(b) == optionNop<<24|optionNop<<16|optionTimestamps<<8|10 {
		o.readStamps(b[4:12])
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
		o.read(b[0], b[2:b[1]])
		b = b[b[1]:]
	}
	return o, OK
}

func (o *TCPOptions) read(kind byte, value []byte) {
	switch {
	case kind == optionMSS && len(value) == 2:
		o.MSS = binary.BigEndian.Uint16(value)
	case kind == optionScale && len(value) == 1:
		o.HasWindowScale, o.WindowScale = true, min(value[0], 14)
	case kind == optionSACKPermitted && len(value) == 0:
		o.SACKPermitted = true
	case kind == optionTimestamps && len(value) == 8:
		o.readStamps(value)
	case kind == optionUserTimeout && len(value) == 2:
		o.UserTimeout = readTimeout(binary.BigEndian.Uint16(value))
	case kind == optionSACK && len(value) > 0 && len(value)%8 == 0:
		o.SACKCount = 0
		for ; len(value) > 0 && o.SACKCount < MaxSACK; value = value[8:] {
			o.SACK[o.SACKCount] = Block{Seq(binary.BigEndian.Uint32(value)), Seq(binary.BigEndian.Uint32(value[4:]))}
			o.SACKCount++
		}
	}
}

func (o *TCPOptions) readStamps(b []byte) {
	o.HasTimestamps, o.TSVal, o.TSEcr = true, Timestamp(binary.BigEndian.Uint32(b)), Timestamp(binary.BigEndian.Uint32(b[4:]))
}

// readTimeout reads 15 bits of seconds, or of minutes when the first bit is set.
func readTimeout(v uint16) time.Duration {
	if v&0x8000 != 0 {
		return time.Duration(v&0x7fff) * time.Minute
	}
	return time.Duration(v) * time.Second
}

// Append appends the options in the order and with the padding of Linux. Their length is a multiple
// of 4, and at most 40 when they are those of a SYN, or at most stamps and three blocks. A
// UserTimeout is rounded up to seconds, or to minutes from 2^15 seconds on.
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
		b = binary.BigEndian.AppendUint16(b, timeoutBits(o.UserTimeout))
	}
	if o.SACKCount > 0 {
		b = append(b, optionNop, optionNop, optionSACK, 2+8*o.SACKCount)
		for _, block := range o.SACKBlocks() {
			b = binary.BigEndian.AppendUint32(b, uint32(block.First))
			b = binary.BigEndian.AppendUint32(b, uint32(block.End))
		}
	}
	return b
}

func timeoutBits(d time.Duration) uint16 {
	if seconds := (d + time.Second - 1) / time.Second; seconds < 1<<15 {
		return uint16(seconds)
	}
	return 0x8000 | uint16(min((d+time.Minute-1)/time.Minute, 1<<15-1))
}
