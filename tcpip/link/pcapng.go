package link

import (
	"encoding/binary"
	"time"
)

// Blocks of pcapng (draft-ietf-opsawg-pcapng, section 4): type, length, body, options, and the
// length again, padded to four bytes. Numbers are little-endian, which the section header declares.
const (
	blockSection   = 0x0a0d0d0a // section 4.1
	blockInterface = 1          // section 4.2
	blockPacket    = 6          // section 4.3: enhanced packet

	byteOrderMagic = 0x1a2b3c4d
	linkEthernet   = 1
	linkRaw        = 101 // IP packets

	optionEnd        = 0
	optionComment    = 1
	optionUser       = 4 // of a section: the application
	optionName       = 2 // of an interface
	optionResolution = 9 // of an interface: times are in so many decimal places of a second
	optionFlags      = 2 // of a packet

	nanoseconds = 9

	inbound  = 1 // values of a packet's flags
	outbound = 2
)

// packetOverhead is the maximum size of a packet's block beyond the packet's kept bytes.
const packetOverhead = 32 + 12 + 3

// startBlock appends the start of a block. endBlock appends its end, given its start's offset.
func startBlock(b []byte, kind uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, kind)
	return append(b, 0, 0, 0, 0)
}

func endBlock(b []byte, begin int) []byte {
	length := uint32(len(b) - begin + 4)
	binary.LittleEndian.PutUint32(b[begin+4:], length)
	return binary.LittleEndian.AppendUint32(b, length)
}

// appendOption appends a padded option. An option without a value is left out, except the last.
func appendOption[T string | []byte](b []byte, code uint16, value T) []byte {
	if len(value) == 0 && code != optionEnd {
		return b
	}
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return fillUp(append(b, value...), len(value))
}

// fillUp pads b with zeros after n bytes to a multiple of four.
func fillUp(b []byte, n int) []byte { return append(b, make([]byte, -n&3)...) }

// appendSection appends a section header of unspecified length.
func appendSection(b []byte, application, comment string) []byte {
	begin := len(b)
	b = startBlock(b, blockSection)
	b = binary.LittleEndian.AppendUint32(b, byteOrderMagic)
	b = binary.LittleEndian.AppendUint16(b, 1) // version 1.0
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint64(b, 1<<64-1) // length: unspecified
	b = appendOption(b, optionComment, comment)
	b = appendOption(b, optionUser, application)
	return endBlock(appendOption(b, optionEnd, ""), begin)
}

// appendInterface appends an interface. Packets name it by its number in the section, from 0.
func appendInterface(b []byte, name string, snap int, m Medium) []byte {
	begin := len(b)
	b = startBlock(b, blockInterface)
	kind := uint32(linkEthernet) // and two reserved bytes
	if m == IP {
		kind = linkRaw
	}
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(snap))
	b = appendOption(b, optionName, name)
	b = appendOption(b, optionResolution, []byte{nanoseconds})
	return endBlock(appendOption(b, optionEnd, ""), begin)
}

// appendPacket appends a packet of an interface, which consists of parts. It keeps the first snap
// bytes.
func appendPacket(b []byte, number uint32, at time.Time, flags byte, comment string, snap int, parts ...[]byte) []byte {
	length := 0
	for _, p := range parts {
		length += len(p)
	}
	kept, begin, when := min(length, snap), len(b), uint64(at.UnixNano())
	b = startBlock(b, blockPacket)
	b = binary.LittleEndian.AppendUint32(b, number)
	b = binary.LittleEndian.AppendUint32(b, uint32(when>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(when))
	b = binary.LittleEndian.AppendUint32(b, uint32(kept))
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	left := kept
	for _, p := range parts {
		n := min(left, len(p))
		b, left = append(b, p[:n]...), left-n
	}
	b = fillUp(b, kept)
	b = appendOption(b, optionComment, comment)
	b = appendOption(b, optionFlags, []byte{flags, 0, 0, 0})
	return endBlock(appendOption(b, optionEnd, ""), begin)
}
