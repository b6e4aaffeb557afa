package wire

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Sum is a partial Internet checksum: a one's complement sum (RFC 1071). The zero value is the sum
// of nothing. Parts are added in order and may have odd lengths: the next part then starts in the
// middle of a word.
//
// It adds eight bytes at a time in the byte order of the machine and swaps the result: the sum does
// not depend on the byte order otherwise (RFC 1071, section 2 B).
type Sum struct {
	sum uint16 // in network byte order
	odd bool   // an odd number of bytes was added
}

// Add adds bytes to the sum.
func (s Sum) Add(b []byte) Sum {
	part := sum(b)
	if s.odd {
		part = bits.ReverseBytes16(part)
	}
	return Sum{addOnes(s.sum, part), s.odd != (len(b)%2 == 1)}
}

// Add16 adds a 16-bit number. The bytes added before must have an even length.
func (s Sum) Add16(v uint16) Sum { return Sum{addOnes(s.sum, v), s.odd} }

// Add32 adds a 32-bit number. The bytes added before must have an even length.
func (s Sum) Add32(v uint32) Sum { return s.Add16(uint16(v >> 16)).Add16(uint16(v)) }

// Pseudo adds the pseudo-header of an IP payload: of IPv4 if both addresses are (RFC 9293, section
// 3.1), otherwise of IPv6 (RFC 8200, section 8.1).
func (s Sum) Pseudo(src, dst netip.Addr, protocol Protocol, length int) Sum {
	if src.Is4() && dst.Is4() {
		a, b := src.As4(), dst.As4()
		return s.Add32(binary.BigEndian.Uint32(a[:])).Add32(binary.BigEndian.Uint32(b[:])).Add16(uint16(protocol)).Add16(uint16(length))
	}
	a, b := src.As16(), dst.As16()
	return s.Add(a[:]).Add(b[:]).Add32(uint32(length)).Add16(uint16(protocol))
}

// Partial returns the sum itself: the value of a checksum field that a device completes.
func (s Sum) Partial() uint16 { return s.sum }

// Checksum returns the value of the checksum field, which must have been added as zero.
func (s Sum) Checksum() uint16 { return ^s.sum }

// OK reports whether the checksum of the added bytes, which include it, is right.
func (s Sum) OK() bool { return s.sum == 0xffff }

func addOnes(a, b uint16) uint16 {
	sum := uint32(a) + uint32(b)
	return uint16(sum) + uint16(sum>>16)
}

// sum adds the bytes as 16-bit words in network byte order; the last one is padded with zero.
func sum(b []byte) uint16 {
	var acc, carry uint64
	// a chain of additions with carry: the CPU executes one per cycle
	for len(b) >= 128 {
		block := b[:128:128]
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[0:8]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[8:16]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[16:24]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[24:32]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[32:40]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[40:48]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[48:56]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[56:64]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[64:72]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[72:80]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[80:88]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[88:96]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[96:104]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[104:112]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[112:120]), carry)
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(block[120:128]), carry)
		b = b[128:]
	}
	for len(b) >= 8 {
		acc, carry = bits.Add64(acc, binary.LittleEndian.Uint64(b), carry)
		b = b[8:]
	}
	acc, carry = bits.Add64(acc, tail(b), carry)
	acc += carry // this cannot carry: after a carry, acc is below the maximum
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>16 + acc&0xffff
	acc = acc>>16 + acc&0xffff
	return bits.ReverseBytes16(uint16(acc))
}

// tail returns the last bytes, fewer than eight, as a number padded with zeros.
func tail(b []byte) (last uint64) {
	if len(b) >= 4 {
		last = uint64(binary.LittleEndian.Uint32(b))
		b = b[4:]
		return last | short(b)<<32
	}
	return short(b)
}

// short returns fewer than four bytes as a number.
func short(b []byte) (n uint64) {
	for i, v := range b {
		n |= uint64(v) << (8 * i)
	}
	return n
}
