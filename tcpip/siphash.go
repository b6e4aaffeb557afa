package tcpip

import (
	"encoding/binary"
	"math/bits"
)

// siphash is SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of short inputs whose output
// reveals nothing about the key, as RFC 6528 requires. Linux uses the same.
func siphash(key *[16]byte, b []byte) uint64 {
	k0, k1 := binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:])
	v := [4]uint64{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		m := binary.LittleEndian.Uint64(b)
		v[3] ^= m
		sipRounds(&v, 2)
		v[0] ^= m
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	v[3] ^= last
	sipRounds(&v, 2)
	v[0] ^= last
	v[2] ^= 0xff
	sipRounds(&v, 4)
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

func sipRounds(v *[4]uint64, n int) {
	for range n {
		v[0] += v[1]
		v[2] += v[3]
		v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
		v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
		v[0] = bits.RotateLeft64(v[0], 32)
		v[2] += v[1]
		v[0] += v[3]
		v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
		v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
		v[2] = bits.RotateLeft64(v[2], 32)
	}
}
